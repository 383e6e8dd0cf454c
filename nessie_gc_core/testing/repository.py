"""What every repository connector must do (:class:`nessie_gc_core.connectors.RepositoryConnector`)."""

# ruff: noqa: D102 - the name of a test says what it says
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest

from nessie_gc_core.connectors import RepositoryConnector
from nessie_gc_core.errors import ReferenceNotFoundError
from nessie_gc_core.model.repository import (
    ContentVersion,
    LogEntry,
    OperationKind,
    Reference,
    ReferenceKind,
)
from nessie_gc_core.testing.credentials import RepositoryCredentialTests
from nessie_gc_core.testing.demands import demands, possible
from nessie_gc_core.testing.not_possible import NotPossible
from nessie_gc_core.testing.repository_commits import RepositoryCommitTests
from nessie_gc_core.testing.repository_situations import OpenRepository, RepositorySituationTests, longest
from nessie_gc_core.testing.repository_tags import RepositoryTagTests

Identity = tuple[str, str, str | None, int | None, str | None]


class RepositoryConnectorContract(
    RepositorySituationTests, RepositoryCommitTests, RepositoryTagTests, RepositoryCredentialTests
):
    """Inherit it and give it these fixtures.

    Required:
        ``open_repository``: a function that makes a connector to one repository; it may be called several times.
        If the repository has pages, it has more references, and one reference has more commits, than fit on one.
        ``expected_references``: names and kinds of all its references.
        ``commit_once``: adds a commit to some reference without the connector, and returns the reference's name.

    Situations, also required; return ``NotPossible("why")`` if the situation cannot exist. Each sequence holds
    functions that make a connector, one for each way in which it can happen:
        ``unavailable``: connectors to a repository that is down: nobody listens, or the server answers that it cannot
        serve.
        ``refusing``: connectors whose credentials are refused.
        ``nonsense``: connectors to a repository all of whose answers are invalid: empty, truncated, another format.
        ``missing_repository``: connectors to a repository that does not exist: a file or database that is
        missing, a name that the server does not know.
        ``breaking_off``: connectors to a repository whose first answers are valid, but a later page fails.
        ``incoherent``: connectors to a repository that answers in the right format, but one of whose answers lacks
        something, has null for it, or says something twice or out of order: a reference without its commit, a commit
        that is its own parent, a row without its metadata location.
        ``break_table``: functions that make the files of one table missing or unreadable and return the name of its
        reference; for connectors that read tables to find their states.
        ``detached``: a reference as it was before it was dropped or moved away, so that nothing leads to its commit
        any more. Some repositories forget such commits.
        ``other_addresses``: connectors to the same repository by another address.

    Optional:
        ``new_branch``: for connectors that can create branches, the name of a new one; the fixture deletes it
        afterwards.
        ``expirable``: for connectors that can expire snapshots, or create tags in tables, the reference of a table with
        a branch ``main`` and more than one snapshot, or ``NotPossible``.
        ``new_tag``: for connectors that can create tags, the name of a new one.
        ``committable``: for connectors that can commit metadata, a branch with an Iceberg table, or ``NotPossible``;
        what the kit commits to it stays.
        ``missing_commit_id``: a well-formed commit id that the repository does not have.
        ``secrets``: strings that must not appear in the identity, in any repr, or in an error.

    Set ``contents_follow_operations = False`` for a catalog without a history, whose log names every state and whose
    ``contents`` are empty.
    """

    # ---- references -----------------------------------------------------------------------------------
    @demands(
        "S15 and S28: the identity is unique to the repository, is the same each time, and shows no secret. "
        "Declare credentials with secret()."
    )
    def test_its_identity_is_always_the_same_and_holds_no_secret(
        self, open_repository: OpenRepository, secrets: Sequence[str]
    ) -> None:
        with open_repository() as one, open_repository() as other:
            assert one.identity()
            assert one.identity() == other.identity()
            shown = f"{one.identity()} {one.address()} {one!r} {one.options!r}"
            assert [secret for secret in secrets if secret in shown] == []

    @demands("S15: one repository has one identity by every address, or two collectors would sweep it at once.")
    def test_its_identity_is_the_same_by_every_address(
        self, repository: RepositoryConnector, other_addresses: Sequence[OpenRepository] | NotPossible
    ) -> None:
        for open_other in possible(other_addresses, "other_addresses", repository):
            with open_other() as other:
                assert repository.identity() == other.identity()

    @demands("S6: every branch and tag comes, exactly once: what no reference reaches is garbage. Follow every page.")
    def test_every_reference_comes_once_with_its_kind(
        self, repository: RepositoryConnector, expected_references: Mapping[str, ReferenceKind]
    ) -> None:
        found = [(reference.name, reference.kind) for reference in repository.references()]
        assert sorted(expected_references.items()) == sorted(found)

    @demands("S9: references are read anew each time. Do not remember heads between calls.")
    def test_a_new_commit_moves_the_head(self, repository: RepositoryConnector, commit_once: Callable[[], str]) -> None:
        before = _heads(repository)
        moved = commit_once()
        after = _heads(repository)
        assert before[moved] != after[moved]
        assert {name: head for name, head in before.items() if name != moved} == {
            name: head for name, head in after.items() if name != moved
        }

    # ---- history --------------------------------------------------------------------------------------
    @demands(
        "S6: a log goes from the head to the first commit without a gap, each entry the first parent of the one "
        "before it. Follow every page."
    )
    def test_a_log_is_a_chain_of_first_parents_from_the_head_to_the_first_commit(
        self, repository: RepositoryConnector
    ) -> None:
        for reference in repository.references():
            log = list(repository.commit_log(reference))
            chain = [reference.commit_id, *(entry.parent_id for entry in log)]
            assert [*(entry.commit_id for entry in log), None] == chain
            assert len(log) == len({entry.commit_id for entry in log})

    @demands("S17: commit times are aware and in UTC.")
    def test_commit_times_are_aware_utc(self, repository: RepositoryConnector) -> None:
        for entry in _all_entries(repository):
            assert timedelta(0) == entry.commit_time.utcoffset()

    @demands("Only a PUT has a content; its key is that of the operation, and its time that of the commit or None.")
    def test_only_puts_have_contents_and_their_time_is_that_of_the_commit(
        self, repository: RepositoryConnector
    ) -> None:
        for entry in _all_entries(repository):
            for operation in entry.operations or ():
                if operation.kind is not OperationKind.PUT:
                    assert operation.content is None
                elif operation.content is not None:
                    assert operation.content.commit_time in (None, entry.commit_time)
                    assert operation.content.content_key == operation.content_key

    @demands("The log begins at reference.commit_id, not at the current head.")
    def test_the_log_of_an_older_commit_is_the_rest_of_the_log(self, repository: RepositoryConnector) -> None:
        reference, log = longest(repository)
        middle = len(log) // 2
        older = replace(reference, commit_id=log[middle].commit_id)
        assert log[middle:] == list(repository.commit_log(older))

    @demands("S9: the log begins at reference.commit_id. Commits that arrive later are not in it.")
    def test_commits_that_arrive_later_are_not_in_the_log(
        self, repository: RepositoryConnector, commit_once: Callable[[], str]
    ) -> None:
        references = {reference.name: reference for reference in repository.references()}
        logs = {name: list(repository.commit_log(reference)) for name, reference in references.items()}
        moved = commit_once()
        assert logs[moved] == list(repository.commit_log(references[moved]))

    @demands("A log is a stream that can be closed early: make commit_log a generator.")
    def test_a_log_is_a_stream_that_can_be_left(self, repository: RepositoryConnector) -> None:
        reference, log = longest(repository)
        stream = repository.commit_log(reference)
        assert log[0] == next(stream)
        close = getattr(stream, "close", None)
        if close is not None:
            close()
        assert log == list(repository.commit_log(reference))

    @demands("A reference without a commit has an empty log and no contents. That is not an error.")
    def test_a_reference_without_a_commit_has_an_empty_log_and_no_contents(
        self, repository: RepositoryConnector
    ) -> None:
        empty = Reference(name="empty", kind=ReferenceKind.BRANCH, commit_id=None)
        assert list(repository.commit_log(empty)) == []
        assert list(repository.contents(empty)) == []

    @demands(
        "S6: a commit that does not exist never counts as an empty history. Raise ReferenceNotFoundError, in one line "
        "that names the commit."
    )
    def test_a_commit_that_does_not_exist_is_an_error(
        self, repository: RepositoryConnector, missing_commit_id: str
    ) -> None:
        reference, _ = longest(repository)
        lost = replace(reference, commit_id=missing_commit_id)
        with pytest.raises(ReferenceNotFoundError, match=missing_commit_id) as caught:
            list(repository.commit_log(lost))
        assert len(str(caught.value).splitlines()) == 1
        if self.contents_follow_operations:
            with pytest.raises(ReferenceNotFoundError, match=missing_commit_id):
                list(repository.contents(lost))

    # ---- contents -------------------------------------------------------------------------------------
    @demands("S6: contents at a commit are all that its history put there, and no key is left out. Follow every page.")
    def test_contents_at_every_commit_are_what_the_operations_put_there(self, repository: RepositoryConnector) -> None:
        for reference in repository.references():
            for commit_id, expected in _replay(repository.commit_log(reference)):
                found = _identities(repository.contents(replace(reference, commit_id=commit_id)))
                assert (expected if self.contents_follow_operations else set()) == found

    @demands("A commit that no reference leads to can be read as long as the repository has it.")
    def test_a_detached_commit_can_still_be_read(
        self, repository: RepositoryConnector, detached: Reference | NotPossible
    ) -> None:
        gone = possible(detached, "detached", repository)
        assert gone.commit_id not in _heads(repository).values()
        states = _replay(repository.commit_log(gone))
        assert (gone.commit_id, _identities(repository.contents(gone))) == states[-1]

    # ---- use ------------------------------------------------------------------------------------------
    @demands("A connector is used from several threads at once. Share no state between streams.")
    def test_threads_read_the_same_as_one(self, repository: RepositoryConnector) -> None:
        references = list(repository.references())

        def read(reference: Reference) -> tuple[list[LogEntry], set[Identity]]:
            return list(repository.commit_log(reference)), _identities(repository.contents(reference))

        alone = [read(reference) for reference in references]
        with ThreadPoolExecutor(4) as pool:
            assert alone * 2 == list(pool.map(read, references * 2))

    @demands(
        "Two connectors with the same options read the same repository: whatever determines it belongs in the options."
    )
    def test_two_connectors_of_the_same_options_read_the_same(self, open_repository: OpenRepository) -> None:
        with open_repository() as one, open_repository() as other:
            assert _heads(one) == _heads(other)

    @demands("A connector can be closed twice.")
    def test_closing_twice_does_no_harm(self, open_repository: OpenRepository) -> None:
        repository = open_repository()
        list(repository.references())
        repository.close()
        repository.close()


def _heads(repository: RepositoryConnector) -> dict[str, str | None]:
    return {reference.name: reference.commit_id for reference in repository.references()}


def _all_entries(repository: RepositoryConnector) -> Iterator[LogEntry]:
    for reference in repository.references():
        yield from repository.commit_log(reference)


def _identities(contents: Iterable[ContentVersion]) -> set[Identity]:
    return {content.identity for content in contents}


def _replay(log: Iterable[LogEntry]) -> list[tuple[str, set[Identity]]]:
    """The commits of a log, oldest first, each with the contents that its own and older operations left.

    Ends before the first commit whose operations are not known.
    """
    visible: dict[str, Identity] = {}
    states: list[tuple[str, set[Identity]]] = []
    for entry in reversed(list(log)):
        if entry.operations is None:
            break
        for operation in entry.operations:
            if operation.kind is OperationKind.PUT and operation.content is not None:
                visible[operation.content_key] = operation.content.identity
            elif operation.kind is not OperationKind.UNCHANGED:
                visible.pop(operation.content_key, None)
        states.append((entry.commit_id, set(visible.values())))
    return states
