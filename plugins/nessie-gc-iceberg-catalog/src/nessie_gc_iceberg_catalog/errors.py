"""What PyIceberg, its HTTP client and its database drivers raise, as errors of Nessie GC in one line."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable
from typing import TypeVar

from nessie_gc_core.errors import (
    AccessDeniedError,
    ConfigurationError,
    NessieGcError,
    RepositoryError,
    ServiceUnavailableError,
)

log = logging.getLogger(__name__)
_T = TypeVar("_T")

# By name, since most of these libraries need not be installed.
_DENIED = frozenset(
    {
        "AccessDeniedException",
        "AuthorizationExpiredError",
        "ExpiredTokenException",
        "ForbiddenError",
        "NoCredentialsError",
        "OAuthError",
        "PermissionError",
        "SignError",
        "UnauthorizedError",
        "UnrecognizedClientException",
    }
)
_UNAVAILABLE = frozenset(
    {
        "ConnectTimeoutError",
        "ConnectionError",
        "EndpointConnectionError",
        "InterfaceError",
        "InternalServiceException",
        "OperationalError",
        "ProvisionedThroughputExceededException",
        "ReadTimeoutError",
        "RequestLimitExceeded",
        "ServerError",
        "ServiceUnavailableError",
        "TTransportException",
        "ThrottlingException",
        "Timeout",
        "TimeoutError",
        "TooManyRequestsError",
    }
)
_NOT_INSTALLED = frozenset({"ImportError", "NotInstalledError", "NoSuchModuleError"})
_MISCONFIGURED = frozenset({"ArgumentError", "MissingSchema", "InvalidSchema", "InvalidURL", "NoSuchPropertyException"})
_DENIED_TEXT = re.compile(
    r"password authentication failed|access denied|permission denied|not authorized", re.IGNORECASE
)
_USER_INFO = re.compile(r"(?<=://)[^/@\s]*@")
_LONGEST = 300


class Redactor:
    """Takes credentials out of texts."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._secrets = sorted({secret for secret in secrets if len(secret) > 2}, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        """The text without them, as one line."""
        line = " ".join(text.split())
        for secret in self._secrets:
            line = line.replace(secret, "***")
        line = _USER_INFO.sub("***@", line)
        return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def translated(error: Exception, what: str, redact: Redactor) -> NessieGcError:
    """The error as a :class:`NessieGcError`; the message says what failed and why."""
    names = {class_.__name__ for class_ in type(error).__mro__}
    reason = redact(_without_values(error)) or type(error).__name__
    if names & _DENIED or _DENIED_TEXT.search(reason):
        return AccessDeniedError(f"{what}: access denied ({reason}); correct the catalog's credentials")
    if names & _UNAVAILABLE:
        return ServiceUnavailableError(f"{what}: the catalog does not answer ({reason}); check its uri, or try again")
    if names & _NOT_INSTALLED:
        return ConfigurationError(f"{what}: a library is missing ({reason}); install PyIceberg's extra for the catalog")
    if names & _MISCONFIGURED:
        return ConfigurationError(f"{what}: the catalog's properties are wrong ({reason})")
    return RepositoryError(f"{what}: {type(error).__name__}: {reason}")


def _without_values(error: Exception) -> str:
    """What an error says; of an answer that cannot be read, without what it holds, which may be credentials."""
    problems = getattr(error, "errors", None)
    if type(error).__name__ != "ValidationError" or not callable(problems):
        return str(error)
    found = problems(include_input=False, include_url=False, include_context=False)
    return "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['type']}" for each in found)


def retrying(call: Callable[[], _T], what: str, redact: Redactor, *, retries: int, wait: Callable[[float], None]) -> _T:
    """Calls, and calls again while the catalog does not answer.

    Raises:
        NessieGcError: what the last call raised, translated.
    """
    for attempt in range(retries + 1):
        try:
            return call()
        except NessieGcError:
            raise
        except Exception as error:
            ours = translated(error, what, redact)
            if attempt == retries or not isinstance(ours, ServiceUnavailableError):
                raise ours from error
            log.warning("%s; trying again (attempt %d of %d)", ours, attempt + 2, retries + 1)
            wait(0.3 * 2**attempt)
    raise AssertionError("the last attempt returns or raises")
