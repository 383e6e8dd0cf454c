"""Tests of repositories that can create tags, of their own or in their tables."""

# ruff: noqa: D102 - the name of a test says what it says
from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

import pytest

from nessie_gc_core.connectors import RepositoryConnector, SupportsTableTags, SupportsTags
from nessie_gc_core.errors import CommitConflictError, ReferenceNotFoundError
from nessie_gc_core.model.repository import Reference, ReferenceKind
from nessie_gc_core.model.table_metadata import RefType, TableMetadata
from nessie_gc_core.testing.demands import demands, possible, skip_without


class RepositoryTagTests:
    """The fixtures are described at ``RepositoryConnectorContract``."""

    @pytest.fixture
    def new_tag(self) -> str:
        return f"kit/{uuid4().hex}"

    # ---- tags of the repository -----------------------------------------------------------------------
    @demands("SupportsTags: a tag can be created at any commit of a branch, and nothing else changes.")
    def test_a_tag_is_made_at_an_earlier_commit_and_nothing_else_changes(
        self, repository: RepositoryConnector, new_tag: str
    ) -> None:
        tagging, branch, earlier = _tagging(repository)
        before = set(repository.references())
        assert tagging.make_tag(new_tag, replace(branch, commit_id=earlier))
        made = Reference(name=new_tag, kind=ReferenceKind.TAG, commit_id=earlier)
        assert before | {made} == set(repository.references())
        assert tagging.delete_tag(made)
        assert before == set(repository.references())

    @demands("SupportsTags: the name of an existing branch or tag is taken. Return False, and change nothing.")
    def test_a_name_that_is_taken_is_left_to_whoever_has_it(
        self, repository: RepositoryConnector, new_tag: str
    ) -> None:
        tagging, branch, earlier = _tagging(repository)
        assert tagging.make_tag(new_tag, branch)
        before = set(repository.references())
        assert not tagging.make_tag(new_tag, replace(branch, commit_id=earlier))
        assert not tagging.make_tag(branch.name, replace(branch, commit_id=earlier))
        assert before == set(repository.references())
        tagging.delete_tag(Reference(name=new_tag, kind=ReferenceKind.TAG, commit_id=branch.commit_id))

    @demands("SupportsTags: a tag is deleted only if it is at the given commit. Otherwise return False, and keep it.")
    def test_a_tag_that_is_elsewhere_a_branch_or_gone_is_not_deleted(
        self, repository: RepositoryConnector, new_tag: str
    ) -> None:
        tagging, branch, earlier = _tagging(repository)
        tag = Reference(name=new_tag, kind=ReferenceKind.TAG, commit_id=branch.commit_id)
        assert not tagging.delete_tag(tag)
        assert tagging.make_tag(new_tag, branch)
        before = set(repository.references())
        assert not tagging.delete_tag(replace(tag, commit_id=earlier))
        assert not tagging.delete_tag(replace(branch, kind=ReferenceKind.TAG))
        assert before == set(repository.references())
        assert tagging.delete_tag(tag)

    @demands("SupportsTags: a commit that does not exist cannot be tagged. Raise ReferenceNotFoundError.")
    def test_a_commit_that_does_not_exist_is_not_tagged(
        self, repository: RepositoryConnector, new_tag: str, missing_commit_id: str
    ) -> None:
        tagging, branch, _ = _tagging(repository)
        before = set(repository.references())
        with pytest.raises(ReferenceNotFoundError) as caught:
            tagging.make_tag(new_tag, replace(branch, commit_id=missing_commit_id))
        assert len(str(caught.value).splitlines()) == 1
        assert before == set(repository.references())

    # ---- tags of tables -------------------------------------------------------------------------------
    @demands("SupportsTableTags: one commit creates some tags and deletes others, and changes nothing else.")
    def test_tags_of_a_table_are_made_and_deleted_and_nothing_else_changes(
        self, repository: RepositoryConnector, request: pytest.FixtureRequest, new_tag: str
    ) -> None:
        tagging, before = _table(repository, request)
        first, last = before.snapshots[0].snapshot_id, before.snapshots[-1].snapshot_id
        tagging.change_tags(before, made={new_tag: first, f"{new_tag}.2": last}, deleted={})
        made = _now(tagging, before)
        expected = {new_tag: (first, RefType.TAG), f"{new_tag}.2": (last, RefType.TAG)}
        assert {**_refs(before), **expected} == _refs(made)
        assert (before.snapshots, before.properties) == (made.snapshots, made.properties)
        tagging.change_tags(made, made={f"{new_tag}.3": last}, deleted={new_tag: first, f"{new_tag}.2": last})
        after = _now(tagging, made)
        assert {**_refs(before), f"{new_tag}.3": (last, RefType.TAG)} == _refs(after)
        assert before.metadata_location in after.metadata_log

    @demands("SupportsTableTags: if the table or a tag has changed since it was read, raise CommitConflictError.")
    def test_tags_of_a_table_that_is_not_as_it_was_read_are_a_conflict(
        self, repository: RepositoryConnector, request: pytest.FixtureRequest, new_tag: str
    ) -> None:
        tagging, before = _table(repository, request)
        first, last = before.snapshots[0].snapshot_id, before.snapshots[-1].snapshot_id
        tagging.change_tags(before, made={new_tag: first}, deleted={})
        now = _now(tagging, before)
        for table, made, deleted in (
            (before, {f"{new_tag}.2": first}, {}),
            (now, {new_tag: last}, {}),
            (now, {}, {new_tag: last}),
        ):
            with pytest.raises(CommitConflictError) as caught:
                tagging.change_tags(table, made=made, deleted=deleted)
            assert len(str(caught.value).splitlines()) == 1
        assert now == _now(tagging, now)


def _tagging(repository: RepositoryConnector) -> tuple[SupportsTags, Reference, str]:
    """The repository as one that creates tags, a branch with more than one commit, and an earlier commit of it."""
    if not isinstance(repository, SupportsTags):
        skip_without(repository, SupportsTags)
    for reference in repository.references():
        log = [entry.commit_id for entry in repository.commit_log(reference)]
        if reference.kind is ReferenceKind.BRANCH and len(log) > 1:
            return repository, reference, log[-1]
    raise AssertionError("the repository of the tests needs a branch with more than one commit")


def _table(repository: RepositoryConnector, request: pytest.FixtureRequest) -> tuple[SupportsTableTags, TableMetadata]:
    """The repository as one whose tables take tags, and the table of the fixture ``expirable``."""
    if not isinstance(repository, SupportsTableTags):
        skip_without(repository, SupportsTableTags)
    name = possible(request.getfixturevalue("expirable"), "expirable", repository)
    (reference,) = (each for each in repository.references() if each.name == name)
    (table,) = repository.tables(reference)
    return repository, table


def _now(tagging: SupportsTableTags, table: TableMetadata) -> TableMetadata:
    found = tagging.reload(table)
    assert found is not None
    return found


def _refs(table: TableMetadata) -> dict[str, tuple[int, RefType]]:
    return {name: (ref.snapshot_id, ref.type) for name, ref in table.refs.items()}
