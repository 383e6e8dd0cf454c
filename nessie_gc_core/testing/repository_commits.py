"""Tests of repositories that take commits (:class:`nessie_gc_core.connectors.SupportsMetadataCommits`)."""

# ruff: noqa: D102 - the name of a test says what it says
from __future__ import annotations

from dataclasses import replace

import pytest

from nessie_gc_core.connectors import RepositoryConnector, SupportsMetadataCommits, SupportsWorkBranches
from nessie_gc_core.errors import CommitConflictError, ConfigurationError
from nessie_gc_core.model.repository import ICEBERG_TABLE, ContentVersion, Reference, ReferenceKind
from nessie_gc_core.testing.demands import demands, not_defined, possible, skip_without
from nessie_gc_core.testing.not_possible import NotPossible

_NEW = "s3://kit/written-by-the-kit/00002-new.metadata.json"
_NEWER = "s3://kit/written-by-the-kit/00003-newer.metadata.json"


class RepositoryCommitTests:
    """The fixtures are described at ``RepositoryConnectorContract``."""

    @pytest.fixture
    def committable(self) -> str | NotPossible:
        raise not_defined("committable", situation=True)

    @demands(
        "SupportsMetadataCommits: a commit gives the named tables new metadata files, and changes nothing else: no "
        "other content, no snapshot id, no other reference, no earlier commit."
    )
    def test_a_commit_changes_the_metadata_file_and_nothing_else(
        self, repository: RepositoryConnector, request: pytest.FixtureRequest
    ) -> None:
        branch, table = _table(repository, request)
        assert isinstance(repository, SupportsMetadataCommits)
        others = _others(repository, branch)
        before, log = _visible(repository, branch), list(repository.commit_log(branch))
        repository.commit_metadata(branch, [(table, _NEW)], message="by the kit")
        now = _now(repository, branch.name)
        identity = replace(table, metadata_location=_NEW).identity
        assert {**before, table.content_id: identity} == _visible(repository, now)
        head, *rest = repository.commit_log(now)
        assert ([entry.commit_id for entry in log], branch.commit_id) == (
            [entry.commit_id for entry in rest],
            head.parent_id,
        )
        assert others == _others(repository, branch)
        assert before == _visible(repository, branch)

    @demands(
        "SupportsMetadataCommits: if a table has changed since it was read, raise CommitConflictError and commit "
        "nothing, not even for the other tables."
    )
    def test_a_table_that_has_changed_since_is_a_conflict(
        self, repository: RepositoryConnector, request: pytest.FixtureRequest
    ) -> None:
        branch, table = _table(repository, request)
        assert isinstance(repository, SupportsMetadataCommits)
        repository.commit_metadata(branch, [(table, _NEW)], message="by somebody else")
        moved = _now(repository, branch.name)
        with pytest.raises(CommitConflictError):
            repository.commit_metadata(branch, [(table, _NEWER)], message="by the kit")
        assert moved == _now(repository, branch.name)

    @demands("SupportsMetadataCommits: nothing is committed to a tag. Raise ConfigurationError.")
    def test_nothing_is_committed_to_a_tag(
        self, repository: RepositoryConnector, request: pytest.FixtureRequest
    ) -> None:
        branch, table = _table(repository, request)
        assert isinstance(repository, SupportsMetadataCommits)
        with pytest.raises(ConfigurationError):
            repository.commit_metadata(replace(branch, kind=ReferenceKind.TAG), [(table, _NEW)], message="by the kit")
        assert branch == _now(repository, branch.name)

    @demands(
        "SupportsWorkBranches: a branch is created from another one, merged back, and deleted, each only on its "
        "condition."
    )
    def test_what_was_committed_to_a_copy_of_a_branch_is_merged_back(
        self, repository: RepositoryConnector, request: pytest.FixtureRequest, new_branch: str
    ) -> None:
        if not isinstance(repository, SupportsWorkBranches):
            skip_without(repository, SupportsWorkBranches)
        base, table = _table(repository, request)
        assert isinstance(repository, SupportsMetadataCommits)
        before = _visible(repository, base)
        assert [repository.copy_branch(new_branch, base), repository.copy_branch(new_branch, base)] == [True, False]
        copy = _now(repository, new_branch)
        assert (base.commit_id, before) == (copy.commit_id, _visible(repository, copy))
        repository.commit_metadata(copy, [(table, _NEW)], message="by the kit")
        changed = _now(repository, new_branch)
        assert base == _now(repository, base.name)
        repository.merge_branch(changed, base, message="merged by the kit")
        merged = _now(repository, base.name)
        identity = replace(table, metadata_location=_NEW).identity
        assert {**before, table.content_id: identity} == _visible(repository, merged)
        assert not repository.drop_branch(copy)
        assert repository.drop_branch(changed)
        assert new_branch not in {reference.name for reference in repository.references()}

    @demands("SupportsWorkBranches: if both branches changed a content, raise CommitConflictError and merge nothing.")
    def test_a_content_that_changed_on_both_branches_is_not_merged(
        self, repository: RepositoryConnector, request: pytest.FixtureRequest, new_branch: str
    ) -> None:
        if not isinstance(repository, SupportsWorkBranches):
            skip_without(repository, SupportsWorkBranches)
        base, table = _table(repository, request)
        assert isinstance(repository, SupportsMetadataCommits)
        repository.copy_branch(new_branch, base)
        for name, path in ((new_branch, _NEW), (base.name, _NEWER)):
            repository.commit_metadata(_now(repository, name), [(table, path)], message="by the kit")
        copy, moved = _now(repository, new_branch), _now(repository, base.name)
        with pytest.raises(CommitConflictError):
            repository.merge_branch(copy, base, message="merged by the kit")
        assert {copy, moved} <= set(repository.references())
        repository.drop_branch(copy)


def _table(repository: RepositoryConnector, request: pytest.FixtureRequest) -> tuple[Reference, ContentVersion]:
    """The branch of the fixture ``committable``, and a table on it."""
    if not isinstance(repository, SupportsMetadataCommits):
        skip_without(repository, SupportsMetadataCommits)
    branch = _now(repository, possible(request.getfixturevalue("committable"), "committable", repository))
    tables = [each for each in repository.contents(branch) if each.content_type == ICEBERG_TABLE]
    assert tables, "the branch of `committable` needs a table"
    return branch, tables[0]


def _now(repository: RepositoryConnector, name: str) -> Reference:
    (found,) = (reference for reference in repository.references() if reference.name == name)
    return found


def _others(repository: RepositoryConnector, branch: Reference) -> set[Reference]:
    return {reference for reference in repository.references() if reference.name != branch.name}


def _visible(repository: RepositoryConnector, branch: Reference) -> dict[str, object]:
    return {version.content_id: version.identity for version in repository.contents(branch)}
