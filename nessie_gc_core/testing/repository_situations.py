"""Tests of repository connectors in situations that are easy to get wrong: failures, and optional abilities.

A reference that is not listed, or a state that is not in its log, looks like garbage. So every failure must be an
error, and never an incomplete answer (S6).
"""

# ruff: noqa: D102 - the name of a test says what it says
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import ClassVar
from uuid import uuid4

import pytest

from nessie_gc_core.connectors import (
    RepositoryConnector,
    SupportsBranches,
    SupportsDefaultReference,
    SupportsFormerIdentities,
    SupportsSharedClock,
    SupportsSnapshotExpiry,
)
from nessie_gc_core.errors import (
    AccessDeniedError,
    CommitConflictError,
    NessieGcError,
    ReferenceNotFoundError,
    RepositoryError,
    ServiceUnavailableError,
)
from nessie_gc_core.model.repository import UNKNOWN_CONTENT, LogEntry, Reference, ReferenceKind
from nessie_gc_core.model.table_metadata import Removal, TableMetadata
from nessie_gc_core.testing.demands import demands, not_defined, possible, skip_without
from nessie_gc_core.testing.not_possible import NotPossible
from nessie_gc_core.testing.options import OptionsTests

OpenRepository = Callable[[], RepositoryConnector]
"""Makes a connector to a repository."""


class RepositorySituationTests(OptionsTests):
    """The fixtures are described at ``RepositoryConnectorContract``."""

    contents_follow_operations: ClassVar[bool] = True
    """Whether ``contents`` at a commit are what its history put there. ``False`` for a catalog without a history,
    whose log names every state and whose ``contents`` are empty."""

    opener: ClassVar[str] = "open_repository"

    @pytest.fixture
    def open_repository(self) -> OpenRepository:
        raise not_defined("open_repository")

    @pytest.fixture
    def expected_references(self) -> Mapping[str, ReferenceKind]:
        raise not_defined("expected_references")

    @pytest.fixture
    def commit_once(self) -> Callable[[], str]:
        raise not_defined("commit_once")

    @pytest.fixture
    def missing_commit_id(self) -> str:
        return "deadbeef" * 8

    @pytest.fixture
    def secrets(self) -> Sequence[str]:
        return ()

    @pytest.fixture
    def detached(self) -> Reference | NotPossible:
        raise not_defined("detached", situation=True)

    @pytest.fixture
    def other_addresses(self) -> Sequence[OpenRepository] | NotPossible:
        raise not_defined("other_addresses", situation=True)

    @pytest.fixture
    def unavailable(self) -> Sequence[OpenRepository] | NotPossible:
        raise not_defined("unavailable", situation=True)

    @pytest.fixture
    def refusing(self) -> Sequence[OpenRepository] | NotPossible:
        raise not_defined("refusing", situation=True)

    @pytest.fixture
    def nonsense(self) -> Sequence[OpenRepository] | NotPossible:
        raise not_defined("nonsense", situation=True)

    @pytest.fixture
    def missing_repository(self) -> Sequence[OpenRepository] | NotPossible:
        raise not_defined("missing_repository", situation=True)

    @pytest.fixture
    def breaking_off(self) -> Sequence[OpenRepository] | NotPossible:
        raise not_defined("breaking_off", situation=True)

    @pytest.fixture
    def incoherent(self) -> Sequence[OpenRepository] | NotPossible:
        raise not_defined("incoherent", situation=True)

    @pytest.fixture
    def break_table(self) -> Sequence[Callable[[], str]] | NotPossible:
        raise not_defined("break_table", situation=True)

    @pytest.fixture
    def new_branch(self) -> str:
        return f"kit_{uuid4().hex}"

    @pytest.fixture
    def expirable(self) -> str | NotPossible:
        raise not_defined("expirable", situation=True)

    @pytest.fixture
    def repository(self, open_repository: OpenRepository) -> Iterator[RepositoryConnector]:
        with open_repository() as repository:
            yield repository

    # ---- failures -------------------------------------------------------------------------------------
    @demands(
        "S6: a repository that is down never counts as one without references. Raise ServiceUnavailableError, in one "
        "line without secrets, from references, commit_log and contents."
    )
    def test_s06_a_repository_that_is_down_is_an_error_and_not_empty(
        self,
        repository: RepositoryConnector,
        unavailable: Sequence[OpenRepository] | NotPossible,
        secrets: Sequence[str],
    ) -> None:
        ways = possible(unavailable, "unavailable", repository)
        self._fails_everywhere(repository, ways, ServiceUnavailableError, secrets)

    @demands(
        "S6: a repository that refuses the credentials never counts as one without references. Raise "
        "AccessDeniedError, in one line without secrets, from references, commit_log and contents."
    )
    def test_s06_refused_credentials_are_an_error_and_not_empty(
        self, repository: RepositoryConnector, refusing: Sequence[OpenRepository] | NotPossible, secrets: Sequence[str]
    ) -> None:
        ways = possible(refusing, "refusing", repository)
        self._fails_everywhere(repository, ways, AccessDeniedError, secrets)

    @demands(
        "S6: an invalid answer never counts as an empty one. Raise RepositoryError, in one line without secrets, from "
        "references, commit_log and contents."
    )
    def test_s06_an_answer_that_makes_no_sense_is_an_error_and_not_empty(
        self, repository: RepositoryConnector, nonsense: Sequence[OpenRepository] | NotPossible, secrets: Sequence[str]
    ) -> None:
        ways = possible(nonsense, "nonsense", repository)
        self._fails_everywhere(repository, ways, RepositoryError, secrets)

    @demands(
        "S6: a repository that does not exist never counts as one without references. Raise ConfigurationError or "
        "RepositoryError, in one line, and do not create what is missing."
    )
    def test_s06_a_repository_that_does_not_exist_is_an_error_and_not_empty(
        self, repository: RepositoryConnector, missing_repository: Sequence[OpenRepository] | NotPossible
    ) -> None:
        for open_missing in possible(missing_repository, "missing_repository", repository):
            for _ in range(2):  # the second time, because opening may have created it
                with pytest.raises(NessieGcError) as caught, open_missing() as opened:
                    list(opened.references())
                assert len(str(caught.value).splitlines()) == 1

    @demands(
        "S6: references, a log or contents that break off are never complete. Raise an error if a page is missing, "
        "even if earlier pages were valid."
    )
    def test_s06_an_answer_that_breaks_off_is_an_error_and_not_the_end(
        self, repository: RepositoryConnector, breaking_off: Sequence[OpenRepository] | NotPossible
    ) -> None:
        for open_broken in possible(breaking_off, "breaking_off", repository):
            with open_broken() as broken, pytest.raises(NessieGcError) as caught:
                for reference in broken.references():
                    list(broken.commit_log(reference))
                    list(broken.contents(reference))
            assert len(str(caught.value).splitlines()) == 1

    @demands(
        "S34: an answer in which something is missing, null, doubled or out of order never counts as less or as none. "
        "Raise an error, or let the log put a content of the type UNKNOWN_CONTENT."
    )
    def test_s34_an_answer_that_lacks_or_repeats_something_is_an_error_or_unknown(
        self, repository: RepositoryConnector, incoherent: Sequence[OpenRepository] | NotPossible
    ) -> None:
        for open_doubtful in possible(incoherent, "incoherent", repository):
            with open_doubtful() as doubtful:
                assert _is_doubted(doubtful)

    @demands(
        "S6: a table whose metadata is missing or unreadable never counts as one without states. Raise an error, or "
        "let its log put a content version that names the metadata, so that its location is frozen."
    )
    def test_s06_a_table_that_cannot_be_read_is_never_one_without_states(
        self, open_repository: OpenRepository, break_table: Sequence[Callable[[], str]] | NotPossible
    ) -> None:
        with open_repository() as healthy:
            ways = possible(break_table, "break_table", healthy)
        for break_it in ways:
            broken = break_it()
            with open_repository() as repository:
                assert _states_or_error(repository, broken)

    # ---- optional abilities ---------------------------------------------------------------------------
    @demands(
        "SupportsFormerIdentities: former identities differ from the current one, come once each, and contain no "
        "secrets."
    )
    def test_its_former_identities_are_others_and_hold_no_secret(
        self, repository: RepositoryConnector, secrets: Sequence[str]
    ) -> None:
        if not isinstance(repository, SupportsFormerIdentities):
            skip_without(repository, SupportsFormerIdentities)
        former = repository.former_identities()
        assert repository.identity() not in former
        assert len(set(former)) == len(former)
        assert [secret for secret in secrets if secret in " ".join(former)] == []

    @demands("S8: the clock of the repository gives an aware time in UTC, or None if it cannot tell.")
    def test_the_shared_clock_is_aware_utc_or_not_known(self, repository: RepositoryConnector) -> None:
        if not isinstance(repository, SupportsSharedClock):
            skip_without(repository, SupportsSharedClock)
        now = repository.shared_time()
        assert now is None or timedelta(0) == now.utcoffset()

    @demands("SupportsDefaultReference: the default branch is one of the references, and a branch.")
    def test_the_default_reference_is_one_of_the_branches(self, repository: RepositoryConnector) -> None:
        if not isinstance(repository, SupportsDefaultReference):
            skip_without(repository, SupportsDefaultReference)
        kinds = {reference.name: reference.kind for reference in repository.references()}
        assert kinds.get(repository.default_reference()) is ReferenceKind.BRANCH

    @demands("SupportsBranches: a new branch has no contents, and creating it again changes nothing.")
    def test_a_branch_that_is_made_is_empty_and_made_once(
        self, repository: RepositoryConnector, new_branch: str
    ) -> None:
        if not isinstance(repository, SupportsBranches):
            skip_without(repository, SupportsBranches)
        assert [repository.make_branch(new_branch), repository.make_branch(new_branch)] == [True, False]
        (made,) = (reference for reference in repository.references() if reference.name == new_branch)
        assert made.kind is ReferenceKind.BRANCH
        assert list(repository.contents(made)) == []

    @demands("SupportsSnapshotExpiry: a commit removes what was requested, and nothing else. It deletes no files.")
    def test_what_is_taken_out_is_not_listed_any_more(
        self, repository: RepositoryConnector, request: pytest.FixtureRequest
    ) -> None:
        expiring, before = _expirable(repository, request)
        held = {ref.snapshot_id for ref in before.refs.values()}
        gone = next(each for each in before.snapshots if each.snapshot_id not in held)
        expiring.remove_snapshots(before, Removal(snapshot_ids=frozenset({gone.snapshot_id})))
        after = expiring.reload(before)
        assert after is not None
        ids = {each.snapshot_id for each in before.snapshots}
        assert ids - {gone.snapshot_id} == {each.snapshot_id for each in after.snapshots}
        assert (before.refs, before.properties, before.location) == (after.refs, after.properties, after.location)
        assert before.metadata_location in after.metadata_log

    @demands("SupportsSnapshotExpiry: if a branch or tag has moved, raise CommitConflictError.")
    def test_nothing_is_taken_out_of_a_table_that_moved_on(
        self, repository: RepositoryConnector, request: pytest.FixtureRequest
    ) -> None:
        expiring, before = _expirable(repository, request)
        held = {ref.snapshot_id for ref in before.refs.values()}
        gone, *_ = (each.snapshot_id for each in before.snapshots if each.snapshot_id not in held)
        main = replace(before.refs["main"], snapshot_id=gone)
        earlier = replace(before, refs={**before.refs, "main": main})
        with pytest.raises(CommitConflictError):
            expiring.remove_snapshots(earlier, Removal(snapshot_ids=frozenset({gone})))
        assert before == expiring.reload(before)

    def _fails_everywhere(
        self,
        repository: RepositoryConnector,
        ways: Sequence[OpenRepository],
        expected: type[NessieGcError],
        secrets: Sequence[str],
    ) -> None:
        """Asserts that each call to each broken repository raises an error of the expected kind."""
        reference, _ = longest(repository)
        for open_broken in ways:
            for ask in self._questions(reference):
                with open_broken() as broken, pytest.raises(expected) as caught:
                    ask(broken)
                assert not isinstance(caught.value, ReferenceNotFoundError)
                assert len(str(caught.value).splitlines()) == 1
                assert [secret for secret in secrets if secret in str(caught.value)] == []

    def _questions(self, reference: Reference) -> Iterator[Callable[[RepositoryConnector], object]]:
        yield lambda broken: list(broken.references())
        if self.contents_follow_operations:  # the log of a plain catalog may come from a file that is still there
            yield lambda broken: list(broken.commit_log(reference))
            yield lambda broken: list(broken.contents(reference))


def longest(repository: RepositoryConnector) -> tuple[Reference, list[LogEntry]]:
    """The reference with the longest log."""
    logs = [(reference, list(repository.commit_log(reference))) for reference in repository.references()]
    reference, log = max(logs, key=lambda pair: len(pair[1]))
    assert len(log) > 1, "the repository of the tests needs a reference with more than one commit"
    return reference, log


def _expirable(
    repository: RepositoryConnector, request: pytest.FixtureRequest
) -> tuple[SupportsSnapshotExpiry, TableMetadata]:
    """The repository as one that expires snapshots, and the table of the fixture ``expirable``."""
    if not isinstance(repository, SupportsSnapshotExpiry):
        skip_without(repository, SupportsSnapshotExpiry)
    name = possible(request.getfixturevalue("expirable"), "expirable", repository)
    (reference,) = (each for each in repository.references() if each.name == name)
    (table,) = repository.tables(reference)
    assert len(table.snapshots) > 1, "the table of `expirable` needs more than one snapshot"
    return repository, table


def _states_or_error(repository: RepositoryConnector, name: str) -> bool:
    """Whether the log of a reference names a state, or something raises."""
    try:
        heads = [reference for reference in repository.references() if reference.name == name]
        entries = [entry for reference in heads for entry in repository.commit_log(reference)]
    except NessieGcError:
        return True
    return any(operation.content is not None for entry in entries for operation in entry.operations or ())


def _is_doubted(repository: RepositoryConnector) -> bool:
    """Whether something raises, or something is unknown, when everything is read; a log in circles is left."""
    is_unknown = False
    try:
        for reference in repository.references():
            seen: set[str] = set()
            for entry in repository.commit_log(reference):
                if entry.commit_id in seen:
                    return False
                seen.add(entry.commit_id)
                contents = [operation.content for operation in entry.operations or () if operation.content is not None]
                is_unknown |= any(content.content_type == UNKNOWN_CONTENT for content in contents)
            list(repository.contents(reference))
    except NessieGcError as error:
        return len(str(error).splitlines()) == 1
    return is_unknown
