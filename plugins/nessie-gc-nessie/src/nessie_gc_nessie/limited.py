"""Responses within limits, whoever sends the requests (S33)."""

from __future__ import annotations

from typing import Any

from requests import PreparedRequest, Response
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPResponse, HTTPSConnectionPool, PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection

from nessie_gc_core.model.responses import Deadline, ResponseLimits, joined, watch
from nessie_gc_core.model.urls import without_secrets

_AT_ONCE = 64 * 1024
"""Bytes that are read at once: unpacked, they are at most about a thousand times as many."""


class _Connection(HTTPConnection):
    def getresponse(self) -> HTTPResponse:
        watch(self.sock)
        return super().getresponse()


class _TlsConnection(HTTPSConnection):
    def getresponse(self) -> HTTPResponse:
        watch(self.sock)
        return super().getresponse()


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _TlsConnection


class LimitedAdapter(HTTPAdapter):
    """Reads each response as a whole, and not more of it than the limits allow."""

    def __init__(self, limits: ResponseLimits) -> None:
        self._limits = limits
        super().__init__()

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """With connections that a deadline can end."""
        super().init_poolmanager(*args, **kwargs)
        _watched(self.poolmanager)

    def proxy_manager_for(self, *args: Any, **kwargs: Any) -> Any:
        """The same, for a proxy."""
        return _watched(super().proxy_manager_for(*args, **kwargs))

    def send(self, request: PreparedRequest, *args: Any, **kwargs: Any) -> Response:
        """The response with its whole content.

        Raises:
            LimitExceededError: it is too large, or too slow.
        """
        what = f"the response to {request.method} {_shown(request.url)}"
        with Deadline(what, self._limits):
            response = super().send(request, *args, **{**kwargs, "stream": True})
            try:
                response._content = joined(response.iter_content(_AT_ONCE), what, self._limits)
            except BaseException:
                response.close()
                raise
            return response


def _watched(manager: PoolManager) -> PoolManager:
    manager.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}
    return manager


def _shown(url: str | None) -> str:
    try:
        return without_secrets(url or "")
    except ValueError:
        return "the server"
