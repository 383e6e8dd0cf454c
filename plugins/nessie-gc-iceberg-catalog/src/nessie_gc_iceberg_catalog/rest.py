"""REST catalogs: what they answer as JSON, within limits (S33), and nothing of it taken on trust (S34).

PyIceberg turns an answer into its own model of a table, which fails for every table that it does not know all about,
such as one of a newer format version. Where the table is, the answer says all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from pyiceberg.catalog.rest import (
    PAGE_SIZE,
    SNAPSHOT_LOADING_MODE,
    Capability,
    Endpoints,
    IdentifierKind,
    LoadCredentialsResponse,
    RestCatalog,
)
from pyiceberg.catalog.rest.auth import AuthManager
from pyiceberg.catalog.rest.response import _handle_non_200_response
from pyiceberg.catalog.rest.scan_planning import StorageCredential
from pyiceberg.exceptions import (
    AuthorizationExpiredError,
    NoSuchNamespaceError,
    NoSuchTableError,
    NoSuchViewError,
    UnauthorizedError,
)
from pyiceberg.io import FileIO
from pyiceberg.typedef import Identifier
from requests import HTTPError, Session

from nessie_gc_core.errors import RepositoryError
from nessie_gc_core.model.parsing import parsed_json
from nessie_gc_core.model.responses import PageCount, ResponseLimits
from nessie_gc_iceberg_catalog.limited import limit


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedContent:
    """A table or view as its catalog answers, whatever it is."""

    metadata_location: str | None
    metadata: Mapping[str, Any]
    """Empty if the catalog does not tell it."""
    config: Mapping[str, Any]
    given: Sequence[object] = ()
    """The credentials for its storage, as the answer has them."""

    @property
    def location(self) -> str | None:
        """Where the metadata says that its files are."""
        return _text(self.metadata.get("location"))

    def credentials(self) -> list[StorageCredential]:
        """The credentials for its storage.

        Raises:
            ValidationError: one cannot be read.
        """
        return LoadCredentialsResponse.model_validate({"storage-credentials": self.given}).storage_credentials


class LimitedRestCatalog(RestCatalog):
    """PyIceberg's, with the same session and authentication."""

    def __init__(self, name: str, limits: ResponseLimits, **properties: Any) -> None:
        self._limits = limits
        super().__init__(name, **properties)

    def _create_legacy_oauth2_auth_manager(self, session: Session) -> AuthManager:
        limit(session, self._limits)  # it asks for a token at once
        return super()._create_legacy_oauth2_auth_manager(session)

    def _create_session(self) -> Session:
        session = super()._create_session()
        limit(session, self._limits)
        return session

    # ---- tables and views -----------------------------------------------------------------------------
    def answer_for_table(self, identifier: Identifier) -> LoadedContent:
        """What loading a table answers.

        Raises:
            NoSuchTableError: there is none.
            RepositoryError: the answer is not a JSON object.
        """
        self._check_endpoint(Capability.V1_LOAD_TABLE)
        mode = self.properties.get(SNAPSHOT_LOADING_MODE)
        url = self.url(Endpoints.load_table, prefixed=True, **self._split_identifier_for_path(identifier))
        return _loaded(self._answer(url, {"snapshots": mode} if mode else {}, NoSuchTableError))

    def answer_for_view(self, identifier: Identifier) -> LoadedContent:
        """What loading a view answers.

        Raises:
            NoSuchViewError: there is none.
            RepositoryError: the answer is not a JSON object.
        """
        self._check_endpoint(Capability.V1_LOAD_VIEW)
        parts = self._split_identifier_for_path(identifier, IdentifierKind.VIEW)
        return _loaded(self._answer(self.url(Endpoints.load_view, prefixed=True, **parts), {}, NoSuchViewError))

    def io_of(self, loaded: LoadedContent) -> FileIO:
        """The FileIO for a table, without what only its own properties say: any committer writes those."""
        try:
            vended = RestCatalog._resolve_storage_credentials(loaded.credentials(), loaded.metadata_location)
        except ValidationError:  # without them, what they are for is not read, and is unknown
            vended = {}
        return self._load_file_io({**loaded.config, **vended}, loaded.metadata_location)

    # ---- listings -------------------------------------------------------------------------------------
    def list_namespaces(self, namespace: str | Identifier = ()) -> list[Identifier]:
        """All pages."""
        self._check_endpoint(Capability.V1_LIST_NAMESPACES)
        parent = self.identifier_to_tuple(namespace)
        params = {"parent": self._encode_namespace_path(parent)} if parent else {}
        return _each_once(map(_levels, self._pages(self.url(Endpoints.list_namespaces), "namespaces", params)))

    def list_tables(self, namespace: str | Identifier) -> list[Identifier]:
        """All pages."""
        self._check_endpoint(Capability.V1_LIST_TABLES)
        return self._identifiers(Endpoints.list_tables, namespace)

    def list_views(self, namespace: str | Identifier) -> list[Identifier]:
        """All pages; none of a server that has no views."""
        if Capability.V1_LIST_VIEWS not in self._supported_endpoints:
            return []
        return self._identifiers(Endpoints.list_views, namespace)

    def _identifiers(self, endpoint: str, namespace: str | Identifier) -> list[Identifier]:
        path = self._encode_namespace_path(self._check_valid_namespace_identifier(namespace))
        return _each_once(map(_identifier, self._pages(self.url(endpoint, namespace=path), "identifiers", {})))

    def _pages(self, url: str, items: str, params: Mapping[str, str]) -> Iterator[object]:
        what, size = f"the response to GET {url}", self.properties.get(PAGE_SIZE)
        count = PageCount(what, self._limits)
        asked = {**params, **({"pageSize": str(size)} if size else {})}
        while True:
            answer = self._answer(url, asked, NoSuchNamespaceError)
            found, token = answer.get(items), answer.get("next-page-token")
            if not isinstance(found, list) or not isinstance(token, str | None):
                raise RepositoryError(f"{what} has no list {items!r}, or no way to get the next page")
            yield from found
            if not token:
                return
            count.follow(token, len(found))
            asked["pageToken"] = token

    def _answer(self, url: str, params: Mapping[str, str], missing: type[Exception]) -> Mapping[str, Any]:
        """A JSON object; a token that has run out is fetched anew once, as PyIceberg does."""
        try:
            return self._asked(url, params, missing)
        except (AuthorizationExpiredError, UnauthorizedError):
            self._refresh_token()
            return self._asked(url, params, missing)

    def _asked(self, url: str, params: Mapping[str, str], missing: type[Exception]) -> Mapping[str, Any]:
        response = self._session.get(url, params=params)
        try:
            response.raise_for_status()
        except HTTPError as error:
            _handle_non_200_response(error, {404: missing})
        try:
            answer = parsed_json(response.content)
        except ValueError as error:
            raise RepositoryError(f"the response to GET {url} is not JSON: {error}") from error
        if not isinstance(answer, dict):
            raise RepositoryError(f"the response to GET {url} is not a JSON object")
        return answer


def _loaded(answer: Mapping[str, Any]) -> LoadedContent:
    given = answer.get("storage-credentials")
    return LoadedContent(
        metadata_location=_text(answer.get("metadata-location")),
        metadata=_object(answer.get("metadata")),
        config=_object(answer.get("config")),
        given=given if isinstance(given, list) else (),
    )


def _identifier(answer: object) -> Identifier:
    found = _object(answer)
    name = _text(found.get("name"))
    if name is None:
        raise RepositoryError(f"the catalog lists a content without a name: {answer!r:.100}")
    return (*_levels(found.get("namespace")), name)


def _levels(answer: object) -> Identifier:
    levels = answer if isinstance(answer, list) else []
    if not levels or not all(isinstance(level, str) and level for level in levels):
        raise RepositoryError(f"the catalog lists a namespace without a name: {answer!r:.100}")
    return tuple(levels)


def _each_once(identifiers: Iterator[Identifier]) -> list[Identifier]:
    """All of them; where one comes twice, pages may have moved meanwhile, and another one may be missing."""
    found: dict[Identifier, None] = {}
    for identifier in identifiers:
        if identifier in found:
            raise RepositoryError(
                f"the catalog lists {'.'.join(identifier)} twice, so others may be missing; run again"
            )
        found[identifier] = None
    return list(found)


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
