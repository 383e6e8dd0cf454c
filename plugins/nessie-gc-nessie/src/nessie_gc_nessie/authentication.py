"""What goes into the Authorization header."""

from __future__ import annotations

import base64
from abc import ABC, abstractmethod

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_nessie.options import NessieOptions


class Authentication(ABC):
    """Returns the Authorization header of each request. Used from several threads at once."""

    @abstractmethod
    def header(self) -> str | None:
        """The header's value; ``None`` for no header."""

    def renew(self, refused: str) -> bool:
        """Called when the server refused a header: whether it is worth to try once more with a new one."""
        return False


class FixedAuthentication(Authentication):
    """Always the same header, or none."""

    def __init__(self, value: str | None) -> None:
        self._value = value

    def header(self) -> str | None:
        """The header that it was made with."""
        return self._value


def bearer(options: NessieOptions) -> Authentication:
    """A token that was issued beforehand."""
    token = required(options, "token").strip()
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise ConfigurationError("option 'token' contains characters that are invalid in a token; copy it again")
    return FixedAuthentication(f"Bearer {token}")


def basic(options: NessieOptions) -> Authentication:
    """User name and password."""
    username = required(options, "username")
    if ":" in username:
        raise ConfigurationError("option 'username' contains a colon, which basic authentication cannot send")
    return FixedAuthentication(basic_header(username, required(options, "password")))


def basic_header(username: str, password: str) -> str:
    """The header of HTTP basic authentication, in UTF-8."""
    return "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode("ascii")


def anonymous(options: NessieOptions) -> Authentication:
    """No credentials; it is an error to give some all the same."""
    for name in ("token", "password", "oauth2_client_secret"):
        if getattr(options, name) is not None:
            raise ConfigurationError(
                f"option {name!r} is given, but 'authentication' is none; set it to the method to use"
            )
    return FixedAuthentication(None)


def required(options: NessieOptions, name: str) -> str:
    """An option that the chosen kind of authentication cannot do without."""
    value: str | None = getattr(options, name)
    if not value:
        raise ConfigurationError(f"authentication {options.authentication!r} needs the option {name!r}; give it")
    return value
