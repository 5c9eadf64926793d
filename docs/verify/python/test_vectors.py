# Runs the verifier over the test vectors: python3 -m unittest
import base64
import json
import os
import unittest
from pathlib import Path

from verify_license import LicenseRefused, time, verify_license

FILE = os.environ.get("VECTORS") or Path(__file__).parents[3] / "test/vectors/vectors.json"


class Vectors(unittest.TestCase):
    def test_vectors(self):
        vectors = json.loads(Path(FILE).read_text(encoding="utf-8"))
        for vector in vectors:
            with self.subTest(vector["name"]):
                self.assertEqual(verdict(vector), vector["expected"], vector["about"])
        print(f"{len(vectors)} vectors")


def verdict(vector):
    data = vector["license"].encode() if "license" in vector else base64.b64decode(vector["licenseBase64"])
    last_seen = time(vector["lastSeen"]) if "lastSeen" in vector else None
    key, app, fingerprint = vector["publicKeyPem"].encode(), vector["app"], vector["fingerprint"]
    try:
        verify_license(data, key, app, fingerprint, time(vector["now"]), last_seen)
        return "ok"
    except LicenseRefused as refused:
        return str(refused)


if __name__ == "__main__":
    unittest.main()
