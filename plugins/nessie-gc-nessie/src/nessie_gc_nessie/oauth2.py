"""OAuth2 client credentials: a token is fetched, kept while it is good, and renewed before it runs out.

Two libraries were tried and left out:

- oauthlib and its adapter for requests refuse plain-HTTP endpoints process-wide, do not renew tokens of this grant, and
  their session may not be shared between threads.
- Authlib (1.9) accepts plain HTTP, renews tokens of this grant, and its client can post through our transport, which
  brings time limits, TLS, retries, and no redirects (S28). But it

  - has one fixed leeway: a token that lives shorter than that is fetched anew for each request;
  - never renews a token whose lifetime is not said, and fails where ``expires_in`` is not a number;
  - uses the wall clock in whole seconds, and prefers an ``expires_at`` of the server's clock;
  - does not check that ``access_token`` is there, and is a text that a header can hold;
  - puts ``error_description``, which may repeat the secret, into its errors;
  - sends client id and secret in Latin-1 without the form encoding of RFC 6749, 2.3.1;
  - has no lock and no type information, and adds cryptography and joserfc.

  What must stand around it is this module less the two fields of the form, the header and the reading of JSON.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import quote_plus

import requests

from nessie_gc_core.errors import AccessDeniedError, RepositoryError, ServiceUnavailableError
from nessie_gc_nessie.authentication import Authentication, basic_header, required
from nessie_gc_nessie.options import NessieOptions
from nessie_gc_nessie.transport import Transport, json_of

DEFAULT_LIFETIME_SECONDS = 60.0
"""Where the server does not say how long a token lives (as Nessie's Java client takes it)."""
LONGEST_MARGIN_SECONDS = 30.0
"""A token is renewed this long before its end, or after four fifths of its life, whichever is later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Token:
    header: str = field(repr=False)
    renew_at: float


class OAuth2ClientCredentials(Authentication):
    """Tokens of the client-credentials grant. Threads that need a new token at once fetch it once."""

    def __init__(
        self, options: NessieOptions, transport: Transport, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._endpoint = required(options, "oauth2_token_endpoint")
        self._client_id = required(options, "oauth2_client_id")
        self._client_secret = required(options, "oauth2_client_secret")
        self._scope = options.oauth2_scope
        self._transport = transport
        self._clock = clock
        self._lock = threading.Lock()
        self._token: _Token | None = None

    def header(self) -> str:
        """The current token, or a new one.

        Raises:
            AccessDeniedError: the token endpoint refuses the client.
            ServiceUnavailableError: the token endpoint does not answer.
            RepositoryError: its answer is invalid.
        """
        with self._lock:
            if self._token is None or self._clock() >= self._token.renew_at:
                self._token = self._fetch()
            return self._token.header

    def renew(self, refused: str) -> bool:
        """Forgets a refused token (another thread may have renewed it already); always worth one more try."""
        with self._lock:
            if self._token is not None and self._token.header == refused:
                self._token = None
        return True

    def _fetch(self) -> _Token:
        form = {"grant_type": "client_credentials"}
        if self._scope:
            form["scope"] = self._scope
        asked_at = self._clock()
        response = self._transport.post_form(
            self._endpoint,
            form=form,
            authorization=basic_header(quote_plus(self._client_id), quote_plus(self._client_secret)),
            server=f"the token endpoint {self._endpoint}",
        )
        self._check(response)
        value, lifetime = self._parse(response)
        margin = min(LONGEST_MARGIN_SECONDS, lifetime / 5)
        return _Token(header=f"Bearer {value}", renew_at=asked_at + lifetime - margin)

    def _check(self, response: requests.Response) -> None:
        status = response.status_code
        if status in (400, 401, 403):
            raise AccessDeniedError(
                f"the token endpoint {self._endpoint} refuses the client {self._client_id!r} "
                f"(HTTP {status}{_error_code(response)}); check client id, client secret and scope"
            )
        if status >= 500:
            raise ServiceUnavailableError(
                f"the token endpoint {self._endpoint} is unavailable: HTTP {status}; try again later"
            )
        if status != 200:
            raise RepositoryError(
                f"the token endpoint {self._endpoint} answered HTTP {status}; check the option oauth2_token_endpoint"
            )

    def _parse(self, response: requests.Response) -> tuple[str, float]:
        nonsense = RepositoryError(
            f"the token endpoint {self._endpoint} answered without a usable access token; "
            "check the option oauth2_token_endpoint"
        )
        answer = json_of(response)
        value = answer.get("access_token") if isinstance(answer, dict) else None
        if (
            not isinstance(answer, dict)
            or not isinstance(value, str)
            or not value.isascii()
            or not value.isprintable()
            or not value
        ):
            raise nonsense
        try:
            lifetime = float(answer.get("expires_in", DEFAULT_LIFETIME_SECONDS))
        except (TypeError, ValueError, OverflowError):
            lifetime = DEFAULT_LIFETIME_SECONDS
        return value, max(lifetime, 0.0) if math.isfinite(lifetime) else DEFAULT_LIFETIME_SECONDS


def _error_code(response: requests.Response) -> str:
    """OAuth2's own error code; never the description, which may repeat what was sent."""
    answer = json_of(response)
    code = answer.get("error") if isinstance(answer, dict) else None
    return f", {code}" if isinstance(code, str) and code.replace("_", "").isalnum() and len(code) < 60 else ""
