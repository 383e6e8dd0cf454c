"""A webhook: a POST with a JSON object for each run that ends badly, or for each."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Collection
from http import HTTPStatus
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from nessie_gc_core.errors import ConfigurationError, ServiceUnavailableError
from nessie_gc_core.model.schedule import JobRun, RunStatus
from nessie_gc_core.services.schedule.history import plain_run

log = logging.getLogger(__name__)

TIMEOUT_SECONDS = 10.0
_PAUSES_SECONDS = (1.0, 5.0, 0.0)
"""After each attempt; there are as many."""


class Webhook:
    """Posts ``{"schedule": …, "text": …, "run": {…}}`` to an address, which may be a secret and is never shown."""

    name = "the webhook"

    def __init__(self, url: str, *, schedule: str, statuses: Collection[RunStatus]) -> None:
        """Takes the address, and for which statuses it is called.

        Raises:
            ConfigurationError: it is not an HTTP address.
        """
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigurationError("`webhook` is not an HTTP address (it is not shown)")
        self._url = url
        self._schedule = schedule
        self._statuses = frozenset(statuses)

    def started(self, run: JobRun) -> None:
        """Posts nothing."""

    def ended(self, run: JobRun) -> None:
        """Posts the run without its report.

        Raises:
            ServiceUnavailableError: the address does not take it.
        """
        if run.status not in self._statuses:
            return
        why = f": {run.error}" if run.error else ""
        plain = {name: value for name, value in plain_run(run).items() if name != "report"}
        body = {"schedule": self._schedule, "text": f"Nessie GC: {run.job} {run.status.value}{why}", "run": plain}
        reason = ""
        for pause in _PAUSES_SECONDS:
            reason = self._post(json.dumps(body).encode())
            if not reason:
                return
            time.sleep(pause)
        raise ServiceUnavailableError(f"the run {run.id} of {run.job} is not told: {reason}")

    def close(self) -> None:
        """Nothing is open."""

    def _post(self, body: bytes) -> str:
        """Posts once; returns why it failed, without the address."""
        headers = {"Content-Type": "application/json", "User-Agent": "nessie-gc"}
        request = Request(self._url, data=body, headers=headers, method="POST")
        try:
            with urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
                answer.read(1)
        except HTTPError as error:
            error.close()
            return f"the address answers {error.code} {HTTPStatus(error.code).phrase if error.code in _KNOWN else ''}"
        except URLError as error:
            return f"the address cannot be reached: {error.reason}"
        except OSError as error:
            return f"the address cannot be reached: {error}"
        return ""


_KNOWN = {status.value for status in HTTPStatus}
