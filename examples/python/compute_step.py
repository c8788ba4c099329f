"""A client of compute-step in one file, with nothing but the standard library. Copy it into your project."""

import http.client
import json
import random
import time
import urllib.error
import urllib.request
import uuid
from decimal import Decimal

ANSWER_MAX_BYTES = 64 * 1024 * 1024


class Problem(Exception):
    """The service refused (RFC 9457). `code` is stable; `retryable`: the same request may do better later."""

    def __init__(self, document, retry_after):
        super().__init__(f"{document['code']}: {document['detail']}")
        self.code = document["code"]
        self.retryable = document["retryable"]
        self.retry_after = document.get("retry_after_seconds", retry_after)
        self.document = document


class NotFollowed(urllib.request.HTTPRedirectHandler):
    """The data goes to the service that was named, and nowhere else."""

    def redirect_request(self, *_args, **_kwargs):
        return None


class ComputeStep:
    """`parse_float` reads the results: Decimal keeps their digits. Integers are exact in Python as they are."""

    def __init__(self, url, key, timeout=150, parse_float=Decimal):
        self.url, self.key, self.timeout, self.parse_float = url.rstrip("/"), key, timeout, parse_float
        self.opener = urllib.request.build_opener(NotFollowed)

    def compute(self, body, deadline=120):
        """One compute step: a Computation, whatever its state."""
        return self.retried("/v1/compute", body, deadline)

    def run(self, body, deadline=120):
        """A run of a function that you have."""
        return self.retried("/v1/compute/run", body, deadline)

    def usage(self):
        """This month's counts, caps and what is left."""
        return self.call("/v1/usage")

    def retried(self, path, body, deadline):
        """Tries again while that can help and `deadline` seconds allow; one key, so nothing runs or counts twice."""
        key, ends_at, wait = uuid.uuid4().hex, time.monotonic() + deadline, 0.5
        while True:
            try:
                return self.call(path, body, key)
            except (Problem, OSError) as error:
                # OSError: the connection failed or timed out; the same key finds out what came of the request.
                if isinstance(error, Problem) and not error.retryable:
                    raise
                said = error.retry_after if isinstance(error, Problem) else None
                pause = wait * random.random() + (said if said is not None else 0.1)
                if time.monotonic() + pause >= ends_at:
                    raise
                time.sleep(pause)
                wait = min(wait * 2, 15)

    def call(self, path, body=None, idempotency_key=None):
        """One request. Raises Problem where the service refuses, OSError where no answer came, and ValueError where
        something else answered, or the body is not JSON."""
        request = urllib.request.Request(self.url + path, headers={"authorization": f"Bearer {self.key}"})
        if body is not None:
            request.data = json.dumps(body, allow_nan=False).encode()
            request.add_header("content-type", "application/json")
        if idempotency_key is not None:
            request.add_header("idempotency-key", idempotency_key)
        try:
            with self.opener.open(request, timeout=self.timeout) as answer:
                return json.loads(self.read(answer), parse_float=self.parse_float)
        except urllib.error.HTTPError as error:
            with error:
                raise self.problem(error) from None
        except http.client.HTTPException as error:
            raise OSError(f"the connection broke ({type(error).__name__})") from None

    def problem(self, error):
        after = error.headers.get("retry-after", "")
        try:
            return Problem(json.loads(self.read(error)), int(after) if after.isdecimal() else None)
        except (ValueError, KeyError, TypeError):
            # The error page of a proxy may go away; another server at this address will not.
            kind = OSError if error.code >= 500 else ValueError
            return kind(f"not an answer of the service (HTTP {error.code})")

    @staticmethod
    def read(answer):
        text = answer.read(ANSWER_MAX_BYTES + 1)
        if len(text) > ANSWER_MAX_BYTES:
            raise OSError("the answer is larger than 64 MiB")
        return text
