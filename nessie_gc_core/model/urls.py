"""URLs with credentials in them: what is secret in one, whatever characters a password is made of."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote, unquote

from nessie_gc_core.errors import ConfigurationError

_AUTHORITY = re.compile(r"(?P<host>\[[^\]]*\]|[^:/]*)(?::(?P<port>\d*))?(?P<path>/.*)?", re.DOTALL)
_DEFAULT_PORTS = {"http": "80", "https": "443", "postgresql": "5432", "mysql": "3306", "mariadb": "3306"}
_LOOPBACK = re.compile(r"localhost\.?|127(?:\.\d{1,3}){3}|\[(?:::1|(?:0{1,4}:){7}0{0,3}1)\]")
_ENDPOINT = re.compile(r"endpoint(-url)?$|\.host$|-authority$", re.IGNORECASE)
"""How the names of properties end whose value is the address of a store."""
_PORT = re.compile(r"\d*[/?]")
TWO_READINGS = "the password is ambiguous; write '@', '/', '?' and ':' in user and password as %40, %2F, %3F and %3A"
"""Why a URL is refused; an error adds where, and never the URL."""


def split_credentials(url: str) -> tuple[str, str | None, str]:
    """The scheme with ``://``, the raw ``USER:PASSWORD`` where there is one, and the rest from the host on.

    Passwords are often written as they are, with slashes, colons or question marks in them, and a parser that ends
    the authority at the first slash then takes a part of the password for host, port or path, and shows it.

    Raises:
        ValueError: it has more than one reading, so that a part of a password could be shown; the message is safe.
    """
    scheme, separator, rest = url.partition("://")
    if not separator:
        return "", None, url
    head, question, query = rest.partition("?")
    if "@" not in rest or rest[:1] in ("/", "["):
        return scheme + separator, None, rest
    if "@" not in head:
        return _from_query(scheme + separator, head, rest)
    user_info, _, host = head.rpartition("@")
    name, colon, password = user_info.partition(":")
    if "/" in name:  # the sign belongs to a path
        return scheme + separator, None, rest
    if colon and ("@" in query or _PORT.match(password)):
        raise ValueError(TWO_READINGS)
    return scheme + separator, user_info, host + question + query


def _from_query(prefix: str, head: str, rest: str) -> tuple[str, str | None, str]:
    """The same where the only ``@`` comes after a question mark, which the query or the password may begin with."""
    name, colon, password = head.partition(":")
    if not colon or "/" in name:
        return prefix, None, rest
    if _PORT.match(password + "?"):
        raise ValueError(TWO_READINGS)
    user_info, _, host = rest.rpartition("@")
    return prefix, user_info, host


def without_secrets(url: str) -> str:
    """A URL that may be shown: no credentials and no parameters, of which any may be a secret.

    Raises:
        ValueError: it is unclear what is secret in it; the message is safe to show.
    """
    prefix, _, rest = split_credentials(url)
    place = re.split(r"[?#;]", rest, maxsplit=1)[0]
    if not prefix and "@" in place:
        raise ValueError(TWO_READINGS)
    return prefix + place


def check_endpoints(properties: Mapping[str, object]) -> None:
    """Refuses an endpoint with a user or password in it: no store takes them from there, and every library shows them.

    Raises:
        ConfigurationError: one has; the message is safe to show.
    """
    for name, value in properties.items():
        if _ENDPOINT.search(name) and "@" in unquote(str(value)):
            raise ConfigurationError(
                f"the property {name!r} contains credentials; give them as properties of their own, such as "
                "s3.access-key-id and s3.secret-access-key"
            )


def passwords_in(value: str) -> list[str]:
    """The password of a URL, with a scheme or without one, in each form in which it may be shown; none: it has none."""
    try:
        _, user_info, _ = split_credentials(value if "://" in value else f"any://{value}")
    except ValueError:
        return [value]
    password = (user_info or "").partition(":")[2]
    return [password, unquote(password)] if password else []


def comparable(url: str) -> str:
    """One spelling of a server's URL: no credentials, query and fragment, one host name for this machine.

    The host is in lower case, its default port and the slash at the end are left out. Paths keep their case.

    Raises:
        ValueError: it has more than one reading, or no host and port; the message is safe to show.
    """
    prefix, _, rest = split_credentials(url)
    scheme = prefix.removesuffix("://").lower()
    place = re.split(r"[?#]", rest, maxsplit=1)[0]
    match = _AUTHORITY.fullmatch(place)
    if match is None:
        raise ValueError("it names no host and port")
    host = match["host"].lower()
    host = "localhost" if _LOOPBACK.fullmatch(host) else host
    port = (match["port"] or "").lstrip("0")
    authority = f"{host}:{port}" if port and port != _DEFAULT_PORTS.get(scheme) else host
    path = quote(unquote(re.sub(r"/{2,}", "/", match["path"] or "")), safe="/!$&'()*+,;=:@~")
    return f"{scheme}://{authority}{path.rstrip('/')}"
