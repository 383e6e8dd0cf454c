"""HTTP with time limits, TLS settings and retries, from any thread."""

from __future__ import annotations

import logging
import math
import ssl
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import requests
from requests.auth import AuthBase
from urllib3.exceptions import InvalidHeader, ReadTimeoutError
from urllib3.util.retry import Retry

from nessie_gc_core.errors import ConfigurationError, LimitExceededError, ServiceUnavailableError
from nessie_gc_core.model.parsing import parsed_json
from nessie_gc_core.model.text import duration_text
from nessie_gc_nessie.limited import limit
from nessie_gc_nessie.options import NessieOptions

log = logging.getLogger(__name__)

RETRIED_STATUSES = frozenset({429, 502, 503, 504})
"""The server cannot serve now, and may soon."""
LONGEST_PAUSE_SECONDS = 60.0
"""Bounds what a server may ask for with Retry-After."""
SHORTEST_PAUSE_SECONDS = 0.1
"""Beyond the retries, whatever a server asks for and whatever the options say."""
_TRANSIENT = (
    requests.ConnectionError,
    requests.Timeout,
    requests.exceptions.ChunkedEncodingError,
    requests.exceptions.ContentDecodingError,
)


class Transport:
    """Sends requests that may be sent twice without harm, and sends them again while that may help; others once.

    One loop covers everything from the connection to the last byte of the answer (the adapter of requests
    itself does not repeat a request whose answer breaks off half way). Redirects are not followed.
    """

    def __init__(
        self,
        options: NessieOptions,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._timeouts = (float(options.connect_timeout_seconds), float(options.read_timeout_seconds))
        if options.tls_ca_file is not None and not Path(options.tls_ca_file).is_file():
            raise ConfigurationError(
                f"option 'tls_ca_file' names {options.tls_ca_file!r}, which is not a file; correct it"
            )
        self._verify: bool | str = (options.tls_ca_file or True) if options.tls_verify else False
        self._backoff = Retry(
            total=None,  # how often is decided here
            backoff_factor=options.retry_backoff_seconds,
            backoff_jitter=options.retry_backoff_seconds,
            backoff_max=LONGEST_PAUSE_SECONDS,
        )
        self._retries = int(options.retries)
        self._limits = options.limits()
        self._reconnect_seconds = float(options.reconnect_seconds)
        self._answered: set[str] = set()
        """The servers that did, by what errors call them: a token endpoint says nothing of Nessie."""
        self._sleep = sleep
        self._clock = clock
        self._idle: deque[requests.Session] = deque()

    def get(self, url: str, *, params: Mapping[str, str], authorization: str | None, server: str) -> requests.Response:
        """The answer of a GET; ``server`` is what errors call the other side.

        Raises:
            ServiceUnavailableError: there was none, after all attempts.
            LimitExceededError: it is too large, or took too long.
            ConfigurationError: the TLS settings do not fit.
        """
        headers = {"Accept": "application/json"}
        return self._exchange("GET", url, server, authorization, headers=headers, params=params)

    def post_json(
        self,
        url: str,
        *,
        params: Mapping[str, str],
        json: object,
        authorization: str | None,
        server: str,
        once: bool = False,
    ) -> requests.Response:
        """The answer of a POST of JSON; errors as for :meth:`get`. Unless ``once``, it must do no harm when sent twice.

        Of what is sent once, ServiceUnavailableError says nothing of what the server did.
        """
        headers = {"Accept": "application/json"}
        return self._exchange("POST", url, server, authorization, headers=headers, params=params, json=json, once=once)

    def delete(
        self, url: str, *, params: Mapping[str, str], authorization: str | None, server: str
    ) -> requests.Response:
        """The answer of a DELETE, which is sent once; errors as for :meth:`post_json`."""
        headers = {"Accept": "application/json"}
        return self._exchange("DELETE", url, server, authorization, headers=headers, params=params, once=True)

    def post_form(
        self, url: str, *, form: Mapping[str, str], authorization: str | None, server: str
    ) -> requests.Response:
        """The answer of a POST of a form, which must do no harm when sent twice; errors as for :meth:`get`."""
        headers = {"Accept": "application/json"}
        return self._exchange("POST", url, server, authorization, headers=headers, data=form)

    def close(self) -> None:
        """Closes the connections that nobody uses; may be called twice."""
        while self._idle:
            self._idle.pop().close()

    def _exchange(
        self,
        method: str,
        url: str,
        server: str,
        authorization: str | None,
        *,
        headers: Mapping[str, str],
        params: Mapping[str, str] | None = None,
        data: Mapping[str, str] | None = None,
        json: object = None,
        once: bool = False,
    ) -> requests.Response:
        retry, failing_since = self._backoff, math.inf
        while True:
            response: requests.Response | None = None
            failure: requests.RequestException | None = None
            try:
                with self._session() as session:
                    response = session.request(
                        method,
                        url,
                        params=params,
                        data=data,
                        json=json,
                        headers=headers,
                        auth=_Authorization(authorization),
                        timeout=self._timeouts,
                        verify=self._verify,
                        allow_redirects=False,
                    )
            except LimitExceededError as error:
                if once:  # what it answers to is done, or not
                    raise ServiceUnavailableError(f"{server} has no usable answer: {error}") from error
                raise
            except _TRANSIENT as error:
                tls_error = _lasting_tls_error(error)
                if tls_error is not None:
                    raise ConfigurationError(
                        f"no TLS connection to {server}: {tls_error}; check the URI and the option tls_ca_file"
                    ) from error
                failure = error
            except requests.RequestException as error:
                raise ConfigurationError(
                    f"the request to {server} failed ({type(error).__name__}); check the URI and the proxy settings"
                ) from error
            if response is not None and (response.status_code not in RETRIED_STATUSES):
                self._answered.add(server)
                return response
            reason = _reason(failure, self._timeouts) if response is None else _status(response)
            retry = _counted(retry, failure, response)
            tried = len(retry.history)
            failing_since = min(failing_since, self._clock())
            if once or not self._is_worth_it(server, tried, failing_since):
                raise ServiceUnavailableError(
                    f"{server} is unavailable: {reason} ({tried} attempt{'s' if tried > 1 else ''}); check that it is "
                    "running and that the URI is right, then try again"
                ) from failure
            log.warning("%s does not answer (%s); trying again (attempt %d)", server, reason, tried + 1)
            self._sleep(_pause_seconds(retry, response, is_beyond=tried > self._retries))

    def _is_worth_it(self, server: str, tried: int, failing_since: float) -> bool:
        """Whether to try again: as often as was asked for, and longer if the server is known to be there."""
        is_waited_for = server in self._answered and self._clock() - failing_since < self._reconnect_seconds
        return tried <= self._retries or is_waited_for

    @contextmanager
    def _session(self) -> Iterator[requests.Session]:
        """A session that no other thread uses meanwhile; as many stay open as were ever used at once."""
        try:
            session = self._idle.pop()
        except IndexError:
            session = self._new_session()
        try:
            yield session
        finally:
            self._idle.append(session)

    def _new_session(self) -> requests.Session:
        session = requests.Session()
        limit(session, self._limits)
        return session


class _Authorization(AuthBase):
    """Sets the header, or keeps requests from looking for credentials in a netrc file."""

    def __init__(self, value: str | None) -> None:
        self._value = value

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._value is not None:
            request.headers["Authorization"] = self._value
        return request


def json_of(response: requests.Response) -> object:
    """The JSON of an answer; ``None`` if it is none, or nested too deeply.

    By the standard library's parser: requests takes another one where that is installed.
    """
    try:
        return parsed_json(response.content)
    except ValueError:
        return None


def _counted(retry: Retry, failure: requests.RequestException | None, response: requests.Response | None) -> Retry:
    if response is None:
        return retry.increment("GET", error=failure)
    return retry.increment("GET", response=response.raw)


def _pause_seconds(retry: Retry, response: requests.Response | None, *, is_beyond: bool) -> float:
    """How long to pause: as the server asks, but beyond the retries no less than if it did not."""
    asked: float | None = None
    if response is not None:
        try:
            asked = retry.parse_retry_after(response.headers["Retry-After"])
        except (KeyError, InvalidHeader):
            asked = None
    pause = retry.get_backoff_time() if asked is None else asked
    if is_beyond:
        pause = max(pause, retry.get_backoff_time(), SHORTEST_PAUSE_SECONDS)
    return min(pause, LONGEST_PAUSE_SECONDS)


def _status(response: requests.Response) -> str:
    return f"HTTP {response.status_code} {response.reason or ''}".strip()


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _lasting_tls_error(failure: requests.RequestException) -> str | None:
    """What is wrong with certificates or protocol; ``None`` if the connection only broke off."""
    if not isinstance(failure, requests.exceptions.SSLError):
        return None
    for cause in _chain(failure):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return cause.verify_message
        if isinstance(cause, ssl.SSLError):
            transient = isinstance(cause, (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError))
            return None if transient else (cause.reason or "TLS error").lower().replace("_", " ")
    return None


def _broke_off_by_timeout(failure: requests.RequestException | None) -> bool:
    """Whether it took too long in the middle of an answer, which requests calls a connection error."""
    return failure is not None and any(isinstance(each, ReadTimeoutError) for each in failure.args)


def _reason(failure: requests.RequestException | None, timeouts: tuple[float, float]) -> str:
    if isinstance(failure, requests.ConnectTimeout):
        return f"no connection within {duration_text(timeouts[0])}"
    if isinstance(failure, requests.ReadTimeout) or _broke_off_by_timeout(failure):
        return f"no answer within {duration_text(timeouts[1])}"
    for cause in _chain(failure):
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
    return f"the connection broke off ({type(failure).__name__})"
