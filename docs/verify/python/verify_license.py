#!/usr/bin/env python3
# Verifies signed licenses offline. Python brings no ECDSA of its own: pip install cryptography
"""Prints "ok", or why the license is refused; the exit status is 0 or 1, and 2 if something else is wrong.

Key, app and fingerprint are the verifier's own: nothing in the license is trusted to say them.
"""

import argparse
import base64
import hashlib
import json
import re
import sys
from datetime import datetime, timezone
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_public_key


class LicenseRefused(Exception):
    """Its text is one of the codes in docs/verifying.md."""


def verify_license(data, public_key_pem, app, fingerprint, now=None, last_seen=None):
    """The license, if it is good. Use nothing of the file but what this gives back.

    data, public_key_pem: bytes. now, last_seen: datetime with a time zone; last_seen is the latest time that the
    application has ever seen: keep it, and give it the next time. Raises LicenseRefused.
    """
    now = now or datetime.now(timezone.utc)
    license = read_license(data)
    signature = license.pop("signature", None)
    signed = canonical(license)
    key = load_public_key(public_key_pem)

    # The algorithm is the verifier's choice, and so is the key: the license may only agree.
    if license.get("alg") != "ES256":
        raise LicenseRefused("wrong_algorithm")
    if license.get("kid") != thumbprint(key):
        raise LicenseRefused("unknown_key")
    if not is_signature(signature, signed, key):
        raise LicenseRefused("bad_signature")

    if license.get("app") != app:
        raise LicenseRefused("wrong_app")
    if license.get("machineFingerprint") != fingerprint:
        raise LicenseRefused("wrong_machine")
    has_end = "expiresAt" in license or "leaseExpiresAt" in license
    if has_end and last_seen is not None and now < last_seen:
        raise LicenseRefused("clock_set_back")
    is_in_grace = "graceEndsAt" in license and not has_passed(license["graceEndsAt"], now)
    if "expiresAt" in license and has_passed(license["expiresAt"], now) and not is_in_grace:
        raise LicenseRefused("expired")
    if "leaseExpiresAt" in license and has_passed(license["leaseExpiresAt"], now):
        raise LicenseRefused("lease_over")
    return license


def read_license(data):
    """Takes only what every reader would understand alike. By itself json keeps the last of two members of one name."""
    try:
        content = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=members,
            parse_int=integer,
            parse_float=no_integer,
            parse_constant=no_integer,
        )
        # json takes half a surrogate pair, in names and values: no UTF-8 can be written of it.
        json.dumps(content, ensure_ascii=False).encode("utf-8")
        if is_too_deep(content):
            raise ValueError("nested too deeply")
    except (ValueError, RecursionError):
        raise LicenseRefused("malformed") from None
    if isinstance(content, dict):
        content = content.get("license", content)  # the whole answer of an activation
    if not isinstance(content, dict):
        raise LicenseRefused("malformed")
    return content


def is_too_deep(value, levels=64):
    """Whether objects and lists are nested more than `levels` deep."""
    if not isinstance(value, (dict, list)):
        return False
    items = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(is_too_deep(each, levels - 1) for each in items)


def members(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a member is there twice")
    return found


def integer(text):
    number = int(text)
    if str(number) != text or abs(number) > 2**53 - 1:
        raise ValueError("some readers would round it, or lose its sign")
    return number


def no_integer(text):
    raise ValueError(f"{text} is not an integer")


def canonical(license):
    """The RFC 8785 form of what a license is made of. Its names are ASCII, so that any order of characters will do."""
    check(license)
    return json.dumps(license, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode("utf-8")


def check(value):
    """A license has objects with simple names, lists, strings and integers; a bool would be an int in Python."""
    if isinstance(value, dict):
        for name, member in value.items():
            if not re.fullmatch(r"[A-Za-z][A-Za-z0-9._-]*", name):
                raise LicenseRefused("malformed")
            check(member)
    elif isinstance(value, list):
        for each in value:
            check(each)
    elif type(value) not in (str, int):
        raise LicenseRefused("malformed")


def is_signature(signature, message, key):
    """Whether it is one, in the only spelling of its 64 bytes r||s in base64url."""
    if not isinstance(signature, str) or not re.fullmatch(r"[A-Za-z0-9_-]{85}[AQgw]", signature):
        return False
    numbers = base64.urlsafe_b64decode(signature + "==")
    r, s = int.from_bytes(numbers[:32], "big"), int.from_bytes(numbers[32:], "big")
    try:
        key.verify(encode_dss_signature(r, s), message, ec.ECDSA(SHA256()))
        return True
    except InvalidSignature:
        return False


def has_passed(time, now):
    """Times are all written alike, so that the order of the texts is that of the times."""
    form = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z"
    if not isinstance(time, str) or not re.fullmatch(form, time):
        raise LicenseRefused("malformed")
    return time <= now.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def load_public_key(pem):
    key = load_pem_public_key(pem)
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise ValueError("not a P-256 public key")
    return key


def thumbprint(key):
    """The id of a key (RFC 7638)."""
    numbers = key.public_numbers()
    x, y = (base64url(number.to_bytes(32, "big")) for number in (numbers.x, numbers.y))
    return base64url(hashlib.sha256(f'{{"crv":"P-256","kty":"EC","x":"{x}","y":"{y}"}}'.encode()).digest())


def base64url(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def time(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(timezone.utc)


def main():
    parser = argparse.ArgumentParser(description="Verifies a signed license offline.", epilog=__doc__)
    parser.add_argument("license", type=Path, help="a license, or the whole answer of an activation")
    parser.add_argument("public_key", type=Path, help="the app's public key in PEM")
    parser.add_argument("app")
    parser.add_argument("fingerprint")
    parser.add_argument("--last-seen", type=time, metavar="TIME", help="such as 2026-01-02T03:04:05.678Z")
    args = parser.parse_args()
    try:
        data, public_key_pem = args.license.read_bytes(), args.public_key.read_bytes()
        verify_license(data, public_key_pem, args.app, args.fingerprint, last_seen=args.last_seen)
        print("ok")
        return 0
    except LicenseRefused as refused:
        print(refused)
        return 1
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
