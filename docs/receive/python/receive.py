#!/usr/bin/env python3
"""Receives events of a hub. Needs Python 3.9 and no packages; `standardwebhooks` from PyPI verifies too."""

import base64
import hmac
import json
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))
known = set()  # in production: a table in which the id is unique


def verify(headers, body):
    """The event. Raises ValueError or KeyError if the hub has not sent it in the last five minutes."""
    names = ("webhook-id", "webhook-timestamp", "webhook-signature")
    event_id, seconds, signatures = (str(headers.get(name, "")) for name in names)
    if abs(time.time() - int(seconds)) > 300:
        raise ValueError("the timestamp is more than five minutes off")
    digest = hmac.digest(KEY, f"{event_id}.{seconds}.".encode() + body, "sha256")
    right = b"v1," + base64.b64encode(digest)
    if not any(hmac.compare_digest(right, each.encode()) for each in signatures.split(" ")):
        raise ValueError("no signature matches")
    return event_id, json.loads(body)


class Receiver(BaseHTTPRequestHandler):
    timeout = 15

    def do_POST(self):
        try:
            size = int(self.headers["content-length"])
            if not 0 < size <= 1_000_000:
                raise ValueError("the body is too large")
            event_id, event = verify(self.headers, self.rfile.read(size))
        except (ValueError, TypeError):
            self.send_response(400)
        else:
            if event_id not in known:
                print(event_id, event["type"], flush=True)  # store the event and its id in one transaction
            known.add(event_id)
            self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("", int(os.environ.get("PORT", "3000"))), Receiver).serve_forever()
