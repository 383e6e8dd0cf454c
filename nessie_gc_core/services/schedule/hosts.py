"""Names and addresses of hosts, as requests and addresses have them."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def name_in(header: str) -> str:
    """The name in a ``Host`` header, without the port; empty if it cannot be understood."""
    try:
        return (urlsplit(f"//{header}").hostname or "").lower()
    except ValueError:
        return ""


def is_address(name: str) -> bool:
    """Whether it is an IP address and no name, which somebody else could point here."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def bracketed(host: str) -> str:
    """A host as it is written in an address."""
    return f"[{host}]" if ":" in host else host
