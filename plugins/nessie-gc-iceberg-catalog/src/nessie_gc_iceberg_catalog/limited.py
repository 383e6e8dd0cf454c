"""Responses within limits, whoever sends the requests (S33)."""

from __future__ import annotations

from typing import Any

from requests import PreparedRequest, Response, Session
from requests.adapters import BaseAdapter, HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPResponse, HTTPSConnectionPool, PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection

from nessie_gc_core.model.responses import Deadline, ResponseLimits, joined, watch
from nessie_gc_core.model.urls import without_secrets

_AT_ONCE = 64 * 1024
"""Bytes that are read at once: unpacked, they are at most about a thousand times as many."""


class _Connection(HTTPConnection):
    def getresponse(self) -> HTTPResponse:  # type: ignore[override]  # as in urllib3
        watch(self.sock)
        return super().getresponse()


class _TlsConnection(HTTPSConnection):
    def getresponse(self) -> HTTPResponse:  # type: ignore[override]  # as in urllib3
        watch(self.sock)
        return super().getresponse()


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _TlsConnection


def limit(session: Session, limits: ResponseLimits) -> None:
    """Puts all responses of a session within limits, whatever adapters it has; may be called again."""
    for prefix, adapter in list(session.adapters.items()):
        if isinstance(adapter, HTTPAdapter):
            session.mount(prefix, _LimitedAdapter(adapter, limits))


class _LimitedAdapter(BaseAdapter):
    """Reads each response of another adapter as a whole, and not more of it than the limits allow."""

    def __init__(self, inner: HTTPAdapter, limits: ResponseLimits) -> None:
        super().__init__()
        self._inner, self._limits = inner, limits
        _watched(inner.poolmanager)
        made = inner.proxy_manager_for
        inner.__dict__["proxy_manager_for"] = lambda *args, **kwargs: _watched(made(*args, **kwargs))

    def send(self, request: PreparedRequest, *args: Any, **kwargs: Any) -> Response:
        """The response with its whole content.

        Raises:
            LimitExceededError: it is too large, or too slow.
        """
        what = f"the response to {request.method} {_shown(request.url)}"
        with Deadline(what, self._limits):
            response = self._inner.send(request, *args, **{**kwargs, "stream": True})
            try:
                response._content = joined(response.iter_content(_AT_ONCE), what, self._limits)
            except BaseException:
                response.close()
                raise
            return response

    def close(self) -> None:
        """Closes the connections."""
        self._inner.close()


def _watched(manager: PoolManager) -> PoolManager:
    """The same, with connections that a deadline can end."""
    manager.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}
    return manager


def _shown(url: str | None) -> str:
    try:
        return without_secrets(url or "")
    except ValueError:
        return "the server"
