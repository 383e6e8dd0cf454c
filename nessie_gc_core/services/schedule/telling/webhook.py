"""A webhook: a POST with a JSON object for each run that ends badly, or for each."""

from __future__ import annotations

import json
import logging
import ssl
import time
from collections.abc import Collection
from http import HTTPStatus
from http.client import HTTPException
from urllib.error import URLError
from urllib.parse import urlsplit

from nessie_gc_core.errors import ConfigurationError, ServiceUnavailableError
from nessie_gc_core.model.report_format import with_format
from nessie_gc_core.model.schedule import JobRun, RunStatus
from nessie_gc_core.model.text import duration_text
from nessie_gc_core.services.schedule.history import plain_run
from nessie_gc_core.services.schedule.telling.posting import post

log = logging.getLogger(__name__)

TIMEOUT_SECONDS = 10.0
"""How long an attempt takes at most."""
_PAUSES_SECONDS = (1.0, 5.0, 0.0)
"""After each attempt; there are as many."""


class Webhook:
    """Posts ``{"format": 1, "schedule": …, "text": …, "run": {…}}`` to an address, which may be a secret."""

    name = "the webhook"

    def __init__(self, url: str, *, schedule: str, statuses: Collection[RunStatus]) -> None:
        """Takes the address, and for which statuses it is called.

        Raises:
            ConfigurationError: it is not an HTTP address.
        """
        check_address(url, "webhook")
        self._url = url
        self._schedule = schedule
        self._statuses = frozenset(statuses)

    def part_of(self, run: JobRun) -> None:
        """Needs no report."""

    def started(self, run: JobRun) -> None:
        """Posts nothing."""

    def ended(self, run: JobRun) -> None:
        """Posts the run without its report.

        Raises:
            ServiceUnavailableError: the address does not take it.
        """
        if run.status not in self._statuses:
            return
        body = with_format({"schedule": self._schedule, "text": self._text(run), "run": plain_run(run)})
        reason = ""
        for pause in _PAUSES_SECONDS:
            reason = self._post(json.dumps(body).encode())
            if not reason:
                return
            time.sleep(pause)
        raise ServiceUnavailableError(f"the run {run.id} of {run.job} is not told: {reason}")

    def close(self) -> None:
        """Nothing is open."""

    def _text(self, run: JobRun) -> str:
        """One line for chat systems; names from data, which are in errors, ping nobody and become no links (S28)."""
        text = f"Nessie GC {self._schedule}: {run.job} {run.status.value}"
        if run.error:
            text += ": `{}`".format(run.error.replace("`", "'"))
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

    def _post(self, body: bytes) -> str:
        """Posts once; returns why it failed, without the address."""
        try:
            status = post(self._url, body, seconds=TIMEOUT_SECONDS)
        except TimeoutError:
            return f"the address does not answer within {duration_text(TIMEOUT_SECONDS)}"
        except URLError as error:
            return f"the address cannot be reached: {_shown_reason(error.reason)}"
        except (OSError, HTTPException, ValueError) as error:  # their texts may show the address
            return f"the address cannot be reached: {type(error).__name__}"
        if 200 <= status < 300:
            return ""
        phrase = HTTPStatus(status).phrase if status in _KNOWN else ""
        return f"the address answers {status} {phrase}".rstrip()


def _shown_reason(reason: str | BaseException) -> str:
    """A reason without the address: TLS says for which host a certificate is wrong, and a proxy says anything."""
    if isinstance(reason, OSError) and reason.errno is not None and not isinstance(reason, ssl.SSLError):
        return str(reason)
    return type(reason).__name__ if isinstance(reason, OSError) else "it is not understood"


def check_address(url: str, setting: str) -> None:
    """Makes sure that an address, which may be a secret, is one of HTTP that libraries understand.

    Raises:
        ConfigurationError: it is not; the message names the setting only.
    """
    try:
        parts = urlsplit(url)
        is_right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.username is None
        _ = parts.port
    except ValueError:
        is_right = False
    if not is_right or not url.isascii() or not url.isprintable() or " " in url:
        raise ConfigurationError(
            f"`{setting}` is not an HTTP address without a user, such as https://host/path (its text is not shown)"
        )


_KNOWN = {status.value for status in HTTPStatus}
