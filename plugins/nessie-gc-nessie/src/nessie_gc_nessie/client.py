"""The small part of Nessie's REST API, version 2, that decides what is live."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple
from urllib.parse import urlsplit, urlunsplit

import requests

from nessie_gc_core.errors import (
    AccessDeniedError,
    CommitConflictError,
    CommitUnknownError,
    ConfigurationError,
    NessieGcError,
    ReferenceNotFoundError,
    RepositoryError,
    ServiceUnavailableError,
)
from nessie_gc_core.model.parsing import TooDeepError, parsed_json
from nessie_gc_core.model.responses import PageCount, ResponseLimits
from nessie_gc_nessie.authentication import Authentication
from nessie_gc_nessie.contents import COMMIT_ID, NO_COMMIT
from nessie_gc_nessie.transport import Transport, json_of

Answer = Mapping[str, Any]
"""A JSON object; what is in it is checked where it is read."""
_LONGEST_SERVER_MESSAGE = 300


class Refusal(NamedTuple):
    """Why a server did not make a change: something is not as it was expected."""

    code: str
    """Nessie's code of the error."""
    said: str
    """The HTTP status, and what the server says."""


class NessieClient:
    """Asks a Nessie server, follows every page, and turns its refusals into our errors."""

    def __init__(
        self, uri: str, authentication: Authentication, transport: Transport, limits: ResponseLimits | None = None
    ) -> None:
        self.uri = normalized(uri)
        self._authentication = authentication
        self._transport = transport
        self._limits = ResponseLimits() if limits is None else limits
        self._no_commit: str | None = None

    def get(self, path: str, params: Mapping[str, str] | None = None) -> Answer:
        """The JSON object at a path.

        Raises:
            ReferenceNotFoundError: the server does not know the reference or commit.
            AccessDeniedError, ServiceUnavailableError, RepositoryError, ConfigurationError: it refuses, does not serve,
                is invalid, or is not a Nessie server.
        """
        response = self._answer(path, params or {})
        try:
            answer = parsed_json(response.content)
        except TooDeepError as error:
            raise RepositoryError(
                f"{self._server} answered GET {path} with JSON that cannot be read: {error}; check the server"
            ) from error
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise RepositoryError(
                f"{self._server} answered GET {path} with something other than a JSON object; check that the URI is "
                "the base of Nessie's REST API (it usually ends with /api/v2)"
            )
        return answer

    def post(self, path: str, params: Mapping[str, str], body: object, *, what: str, rights: str) -> str | None:
        """Posts JSON, which must do no harm when sent twice; gives Nessie's code of a conflict, if that is the answer.

        Args:
            path: what is changed.
            params: parameters of the request.
            body: what is posted.
            what: what is changed, for errors.
            rights: what an account needs for it, for errors.

        Raises:
            AccessDeniedError, ServiceUnavailableError, RepositoryError, ConfigurationError: as for :meth:`get`.
        """

        def send() -> requests.Response:
            return self._transport.post_json(
                f"{self.uri}/{path}",
                params=params,
                json=body,
                authorization=self._authentication.header(),
                server=self._server,
            )

        response = send()
        header = response.request.headers.get("Authorization")
        if response.status_code == 401 and isinstance(header, str) and self._authentication.renew(header):
            response = send()
        if response.status_code == 409:
            return _error_code(response) or "CONFLICT"
        if response.status_code == 403:
            raise self._not_allowed(what, f"HTTP 403{_server_message(response)}", rights)
        if response.status_code != 200:
            raise self._error(response, path)
        return None

    def commit(self, path: str, body: object) -> None:
        """Posts a commit, once: an answer that is lost may be that of a commit that was made (S19).

        Raises:
            CommitConflictError: something that it changes was changed in the meantime, or its branch is gone.
            CommitUnknownError: there is no answer that says whether it was made.
            AccessDeniedError, RepositoryError, ConfigurationError: it was refused.
        """
        rights = "commits to the branch, and changes of its tables"
        refusal = self.change(path, {}, body=body, what="the commit", rights=rights)
        if refusal is not None:
            raise CommitConflictError(f"{self._server} rejected the commit ({refusal.said})")

    def change(
        self, path: str, params: Mapping[str, str], *, body: object = None, what: str, rights: str
    ) -> Refusal | None:
        """Asks for a change, once: an answer that is lost may be that of a change that was made (S19).

        Args:
            path: what is changed.
            params: parameters of the request.
            body: the JSON that is posted; ``None``: it is a DELETE.
            what: what is changed, for errors, such as ``the commit``.
            rights: what an account needs for it, for errors.

        Returns:
            ``None`` if it was made; else what the server found to be other than was expected.

        Raises:
            CommitUnknownError: there is no answer that says whether it was made.
            AccessDeniedError, RepositoryError, ConfigurationError: it was refused.
        """
        authorization = self._authentication.header()  # where that fails, nothing was sent
        try:
            response = self._sent_once(path, params, body, authorization)
        except ServiceUnavailableError as error:
            raise CommitUnknownError(f"{error}; cannot tell whether {what} succeeded") from error
        code, said = _error_code(response), f"HTTP {response.status_code}{_server_message(response)}"
        if response.status_code == 409 or code == "REFERENCE_NOT_FOUND":
            return Refusal(code or "CONFLICT", said)
        if response.status_code == 403:
            raise self._not_allowed(what, said, rights)
        is_empty = body is None and response.status_code == 204
        is_said = is_empty or (response.status_code == 200 and isinstance(json_of(response), dict))
        if response.status_code >= 500 or (200 <= response.status_code < 300 and not is_said):
            raise CommitUnknownError(f"cannot tell whether {what} succeeded on {self._server} ({said})")
        if not is_said:
            raise self._error(response, path)
        return None

    def _sent_once(
        self, path: str, params: Mapping[str, str], body: object, authorization: str | None
    ) -> requests.Response:
        """The answer; where credentials were refused, that to new ones."""
        url = f"{self.uri}/{path}"

        def send(authorization: str | None) -> requests.Response:
            server = self._server
            if body is None:
                return self._transport.delete(url, params=params, authorization=authorization, server=server)
            return self._transport.post_json(
                url, params=params, json=body, authorization=authorization, server=server, once=True
            )

        response = send(authorization)
        header = response.request.headers.get("Authorization")
        if response.status_code == 401 and isinstance(header, str) and self._authentication.renew(header):
            return send(self._authentication.header())
        return response

    def time(self, path: str) -> datetime | None:
        """The time in the ``Date`` header of the answer at a path, UTC; ``None`` if it has none.

        Raises:
            AccessDeniedError, ServiceUnavailableError, RepositoryError, ConfigurationError: as for :meth:`get`.
        """
        try:
            return parsedate_to_datetime(self._answer(path, {}).headers.get("Date", "")).astimezone(UTC)
        except ValueError:
            return None

    def _answer(self, path: str, params: Mapping[str, str]) -> requests.Response:
        response = self._send(path, params)
        if response.status_code == 401:
            response = self._send_renewed(response, path, params)
        if response.status_code != 200:
            raise self._error(response, path)
        return response

    def config(self) -> Answer:
        """What the server says of itself.

        Raises:
            RepositoryError: the hash that it has where there is no commit is not one; and all errors of :meth:`get`.
        """
        config = self.get("config")
        found = config.get("noAncestorHash", NO_COMMIT)
        if not isinstance(found, str) or not COMMIT_ID.fullmatch(found):
            raise self.nonsense("config", "does not say which hash stands for no commit")
        self._no_commit = found
        return config

    def no_commit(self) -> str:
        """The hash that the server has where there is no commit; errors are those of :meth:`config`."""
        if self._no_commit is None:
            self.config()
        return self._no_commit or NO_COMMIT

    def is_no_commit(self, commit_id: str) -> bool:
        """Whether a hash is the one that the server itself has where there is no commit (S34).

        It is asked once, and only if that is likely.
        """
        return commit_id in (NO_COMMIT, self._no_commit) and commit_id == self.no_commit()

    def pages(
        self, path: str, params: Mapping[str, str], *, items: str, sizes: Callable[[int], int]
    ) -> Generator[Sequence[object], None, None]:
        """What is in all pages of an answer, fetched as they are consumed.

        Args:
            path: what is asked for.
            params: parameters of the request.
            items: the name of the list in each page.
            sizes: gives the page size by page number.

        Raises:
            RepositoryError: the pages do not come to an end that can be trusted; and all errors of :meth:`get`.
        """
        token: str | None = None
        number, count = 0, PageCount(f"{self._server}: the response to GET {path}", self._limits)
        while True:
            page_params = {**params, "max-records": str(sizes(number))}
            if token is not None:
                page_params["page-token"] = token
            page = self.get(path, page_params)
            more = page.get("hasMore")
            if not isinstance(more, bool):
                raise self.nonsense(path, "does not say whether there are more pages")
            found = page.get(items)
            if not isinstance(found, list):
                raise self.nonsense(path, f"has no list {items!r}")
            following = page.get("token")
            if not more and following is not None:
                raise self.nonsense(path, "has no more pages, and yet a way to get the next one")
            yield found
            if not more:
                return
            if not isinstance(following, str) or not following:
                raise self.nonsense(path, "has more pages, but no way to get the next one")
            count.follow(following, len(found))
            token, number = following, number + 1

    def nonsense(self, path: str, what: str) -> RepositoryError:
        """The error for an answer that breaks the protocol."""
        return RepositoryError(
            f"{self._server}: the response to GET {path} {what}; check that the server is Nessie with REST API "
            "version 2 and that no proxy changes its responses"
        )

    @property
    def _server(self) -> str:
        return f"Nessie at {self.uri}"

    def _send(self, path: str, params: Mapping[str, str]) -> requests.Response:
        header = self._authentication.header()
        return self._transport.get(f"{self.uri}/{path}", params=params, authorization=header, server=self._server)

    def _send_renewed(self, refused: requests.Response, path: str, params: Mapping[str, str]) -> requests.Response:
        """Tokens may be taken back before they run out: one more try with a new one."""
        header = refused.request.headers.get("Authorization")
        if not (isinstance(header, str) and self._authentication.renew(header)):
            return refused
        return self._send(path, params)

    def _not_allowed(self, what: str, said: str, rights: str) -> AccessDeniedError:
        return AccessDeniedError(f"{self._server} does not allow this account {what} ({said}); grant it {rights}")

    def _error(self, response: requests.Response, path: str) -> NessieGcError:
        status, detail = response.status_code, _server_message(response)
        said = f"HTTP {status}{detail}"
        if status == 401:
            return AccessDeniedError(
                f"{self._server} rejected the credentials ({said}); check the authentication options"
            )
        if status == 403:
            return AccessDeniedError(
                f"{self._server} does not allow this account to read ({said}); grant it read access to all "
                "references and contents"
            )
        if status == 404:
            if path.startswith("trees/") and _error_code(response) == "REFERENCE_NOT_FOUND":
                return ReferenceNotFoundError(
                    f"{self._server} does not have (or no longer has) GET {path}{detail}; list the references again"
                )
            return ConfigurationError(
                f"no Nessie REST API at {self.uri} ({said}); check the URI, it usually ends with /api/v2"
            )
        if 300 <= status < 400:
            return ConfigurationError(f"{self._server} redirects elsewhere ({said}); set the URI to the server itself")
        if status >= 500:
            return ServiceUnavailableError(f"{self._server} is unavailable: {said}; check its log, then try again")
        return RepositoryError(f"{self._server} rejected a valid request ({said})")


def normalized(uri: str) -> str:
    """A URI without trailing slash and default port, its host in lower case."""
    parts = urlsplit(uri)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    default_port = {"http": 80, "https": 443}.get(parts.scheme)
    authority = host if parts.port in (None, default_port) else f"{host}:{parts.port}"
    return urlunsplit((parts.scheme, authority, parts.path.rstrip("/"), "", ""))


def _error_code(response: requests.Response) -> str | None:
    answer = json_of(response)
    code = answer.get("errorCode") if isinstance(answer, dict) else None
    return code if isinstance(code, str) else None


def _server_message(response: requests.Response) -> str:
    """What the server says about an error, on one line and not too long."""
    answer = json_of(response)
    message = answer.get("message") if isinstance(answer, dict) else None
    if not isinstance(message, str) or not message.strip():
        return ""
    return ": " + " ".join(message.split())[:_LONGEST_SERVER_MESSAGE]
