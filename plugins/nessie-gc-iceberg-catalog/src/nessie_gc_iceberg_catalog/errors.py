"""What PyIceberg, its HTTP client and its database drivers raise, as errors of Nessie GC in one line."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable

from nessie_gc_core.errors import (
    AccessDeniedError,
    ConfigurationError,
    NessieGcError,
    RepositoryError,
    ServiceUnavailableError,
)

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
_OF_ACCOUNT = frozenset(
    {"AuthorizationExpiredError", "NoCredentialsError", "OAuthError", "SignError", "UnauthorizedError"}
)
"""What a catalog refuses to an account whatever it asks for."""
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
    r"password authentication failed|access[ _]denied|permission denied|not authorized", re.IGNORECASE
)
_USER_INFO = re.compile(
    r"(?<=://)[^/@\s]*:[^/@\s]*@|(?<!abfs://)(?<!abfss://)(?<!wasb://)(?<!wasbs://)(?<=://)[^/@\s]*@"
)
"""Before the host of a URL; what Azure has there without a colon is a container."""
_SIGNED = re.compile(r"([?&](?:sig|[\w-]*signature|[\w-]*token)=)[^&\s'\"]+", re.IGNORECASE)
"""What lets whoever knows a URL read it: a shared access signature, a presigned request."""
_BUSY = frozenset({"TooManyRequestsError", "ThrottlingException", "ProvisionedThroughputExceededException"})
_BUSY_STATUS = frozenset({429, 503})
_OF_STORES = frozenset({"OSError", "ClientError", "HttpError", "HttpResponseError"})
"""What the clients of stores raise, whatever the store says."""
_BUSY_TEXT = re.compile(
    r"slow_?down|too many requests|throttl|reduce your request rate|rate ?limit|service ?unavailable|server ?busy"
    r"|resource_exhausted|status(?: code)?[ :(]*(?:429|503)\b",
    re.IGNORECASE,
)
"""What a store says, in the words of its client, whose requests are too many; HEAD has an answer without words."""
_NAMED = re.compile(r"'[^']*'|\S+://\S+")
"""What a message names: keys, buckets, URLs, which are data and may hold any word."""
_NO_ANSWER_TEXT = re.compile(
    r"network_connection|internal_failure|request_timeout|connection (?:reset|refused)|timed out"
    r"|status(?: code)?[ :(]*5\d\d\b",
    re.IGNORECASE,
)
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
        line = _SIGNED.sub(r"\1***", _USER_INFO.sub("***@", line))
        return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def translated(error: Exception, what: str, redact: Redactor) -> NessieGcError:
    """The error as a :class:`NessieGcError`; the message says what failed and why."""
    names, what = _names(error), redact(what)
    reason = redact(without_values(error)) or type(error).__name__
    if names & _DENIED or _DENIED_TEXT.search(reason):
        return AccessDeniedError(f"{what}: access denied ({reason}); correct the catalog's credentials")
    if is_busy(error):
        return ServiceUnavailableError(f"{what}: too many requests ({reason}); try again later")
    if is_of_store(error) and _NO_ANSWER_TEXT.search(reason):
        return ServiceUnavailableError(f"{what}: the store does not answer ({reason}); try again later")
    if names & _UNAVAILABLE or (names & _OF_STORES and _NO_ANSWER_TEXT.search(reason)):
        return ServiceUnavailableError(f"{what}: the catalog does not answer ({reason}); check its uri, or try again")
    if names & _NOT_INSTALLED:
        return ConfigurationError(f"{what}: a library is missing ({reason}); install PyIceberg's extra for the catalog")
    if names & _MISCONFIGURED:
        return ConfigurationError(f"{what}: the catalog's properties are wrong ({reason})")
    return RepositoryError(f"{what}: {type(error).__name__}: {reason}")


def is_of_store(error: BaseException | None) -> bool:
    """Whether the client of a store raised an error, not a catalog or its HTTP client."""
    names = _names(error)
    return bool(names & _OF_STORES) and not names & {*_BUSY, *_UNAVAILABLE, "RequestException"}


def is_of_catalog(error: NessieGcError) -> bool:
    """Whether loading one content failed for a reason that has nothing to do with it, such as no answer at all."""
    cause = error.__cause__
    names = _names(cause)
    if isinstance(error, ConfigurationError) or names & _OF_ACCOUNT:
        return True
    if not isinstance(error, ServiceUnavailableError) or is_of_store(cause):
        return False
    return "ServerError" not in names  # an answer with a status of 500 and more, other than that it is busy


def is_busy(error: Exception) -> bool:
    """Whether a catalog or a store says that it gets too many requests."""
    names = _names(error)
    if names & _BUSY or getattr(error, "errno", None) == errno.EBUSY:
        return True
    if "RequestException" in names:  # an OSError too, which names the URL
        return getattr(getattr(error, "response", None), "status_code", None) in _BUSY_STATUS
    is_of_store = bool(names & _OF_STORES) and not isinstance(error, FileNotFoundError | PermissionError)
    return is_of_store and _BUSY_TEXT.search(_NAMED.sub("", str(error))) is not None


def _names(error: BaseException | None) -> set[str]:
    return {class_.__name__ for class_ in type(error).__mro__}


def without_values(error: Exception) -> str:
    """What an error says; of an answer that cannot be read, without what it holds, which may be credentials."""
    problems = getattr(error, "errors", None)
    if type(error).__name__ != "ValidationError" or not callable(problems):
        return str(error)
    found = problems(include_input=False, include_url=False, include_context=False)
    return "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['type']}" for each in found)
