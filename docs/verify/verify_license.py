#!/usr/bin/env python3
# Verifies signed licenses offline, with nothing but Python's standard library and the openssl command line.
"""usage: verify_license.py PUBLIC_KEY.pem APP MACHINE_FINGERPRINT LICENSE.json...

Each file holds a license, or the whole answer of an activation. Prints "FILE: ok" or "FILE: bad: REASON" for each;
the exit status is 1 if any of them is bad.
The public key, the app and the fingerprint are the verifier's own: nothing in the license is trusted to say them.
"""

import base64
import json
import re
import subprocess
import sys
import tempfile
from datetime import datetime, timezone


def main(public_key, app, fingerprint, *paths):
    failed = False
    for path in paths:
        try:
            with open(path, encoding="utf-8") as file:
                verify(file.read(), public_key, app, fingerprint)
            print(f"{path}: ok")
        except ValueError as error:
            print(f"{path}: bad: {error}")
            failed = True
    return 1 if failed else 0


def verify(text, public_key, app, fingerprint):
    license = json.loads(
        text, object_pairs_hook=members, parse_float=refuse_number, parse_constant=refuse_number
    )
    if not isinstance(license, dict):
        raise ValueError("not a JSON object")
    license = license.get("license", license)
    signature = license.pop("signature", None)
    if license.get("alg") != "ES256":
        raise ValueError("unknown algorithm")
    if license.get("app") != app:
        raise ValueError("for another app")
    if license.get("machineFingerprint") != fingerprint:
        raise ValueError("for another machine")
    check_signature(public_key, canonical(license).encode("utf-8"), decode_signature(signature))
    for end in ("expiresAt", "leaseExpiresAt"):
        # RFC 3339 in UTC with milliseconds, so that the order of the texts is the order of the times.
        if end in license and license[end] <= now():
            raise ValueError(f"{end} has passed")


def now():
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def members(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a member is there twice")
    return found


def refuse_number(text):
    raise ValueError(f"{text} is not an integer")


def canonical(value):
    """The RFC 8785 form of a value made of objects, strings and integers."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(quote(name) + ":" + canonical(value[name]) for name in names) + "}"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, int) and not isinstance(value, bool):
        if abs(value) > 2**53 - 1:
            raise ValueError(f"{value} is out of range")
        return str(value)
    raise ValueError(f"a license has no {type(value).__name__} in it")


SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def quote(text):
    def escape(character):
        if 0xD800 <= ord(character) <= 0xDFFF:
            raise ValueError("a lone surrogate")
        if character in SHORT:
            return SHORT[character]
        return f"\\u{ord(character):04x}" if character < " " else character

    return '"' + "".join(map(escape, text)) + '"'


def decode_signature(text):
    if not isinstance(text, str) or not re.fullmatch(r"[A-Za-z0-9_-]{86}", text):
        raise ValueError("the signature is not 64 bytes in base64url")
    signature = base64.urlsafe_b64decode(text + "==")
    if base64.urlsafe_b64encode(signature).decode().rstrip("=") != text:
        raise ValueError("the signature has stray bits")
    return signature


def check_signature(public_key, message, signature):
    with tempfile.NamedTemporaryFile() as der:
        der.write(sequence(integer(signature[:32]) + integer(signature[32:])))
        der.flush()
        command = ["openssl", "dgst", "-sha256", "-verify", public_key, "-signature", der.name]
        if subprocess.run(command, input=message, capture_output=True).returncode != 0:
            raise ValueError("the signature does not match")


def integer(big_endian):
    number = int.from_bytes(big_endian, "big")
    content = number.to_bytes(number.bit_length() // 8 + 1, "big")
    return b"\x02" + bytes([len(content)]) + content


def sequence(content):
    return b"\x30" + bytes([len(content)]) + content


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
