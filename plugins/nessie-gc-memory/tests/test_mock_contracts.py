from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

import pytest
from nessie_gc_memory.mock import (
    MockChanges,
    MockContentToFiles,
    MockFileDeleter,
    MockFileLister,
    MockLake,
    MockLakeSpec,
    MockRepository,
)
from nessie_gc_memory.mock.history import Snapshot
from nessie_gc_memory.mock.layout import Role

from nessie_gc_core.model.files import FileKind, ReachableFile
from nessie_gc_core.model.repository import Reference, ReferenceKind
from nessie_gc_core.testing import NotPossible
from nessie_gc_core.testing.content_to_files import ContentToFilesContract, WrittenContent
from nessie_gc_core.testing.file_deleter import FileDeleterContract
from nessie_gc_core.testing.file_fixtures import FileStoreFixtures
from nessie_gc_core.testing.file_lister import FileListerContract
from nessie_gc_core.testing.paths import ODD_PATHS
from nessie_gc_core.testing.repository import RepositoryConnectorContract

COMPUTED = NotPossible("it computes its answers, in its own process")


@pytest.fixture
def changes():
    """Where changes are recorded: in memory."""


class ChangesInAFile:
    """The same, with changes in a file."""

    @pytest.fixture
    def changes(self, tmp_path):
        return str(tmp_path / "changes.jsonl")


@pytest.fixture
def spec(changes):
    """A lake of tables of all versions."""
    spec = MockLakeSpec(
        lake=f"lake-{uuid4()}",
        references=6,
        commits=40,
        table_count=3,
        branch_commits=4,
        files_per_commit=3,
        format_versions=("1", "2", "3"),
        deletes_every=2,
        deletes_per_commit=2,
        statistics_every=1,
        changes=changes,
    )
    yield spec
    MockChanges.forget(spec)


@pytest.fixture
def given(spec):
    """The options, as a configuration has them."""
    return spec.as_options()


class Computed(FileStoreFixtures):
    """The back doors of a computed lake."""

    @pytest.fixture
    def location(self):
        return "mock://bucket/base/"

    @pytest.fixture
    def put_file(self, spec):
        return lambda location, path, data: MockChanges.of(spec).put(location + path, data)

    @pytest.fixture
    def put_directory(self):
        return NotPossible("a computed lake has neither directories nor markers")

    @pytest.fixture
    def put_link(self):
        return NotPossible("a computed lake has no links")

    @pytest.fixture
    def odd_paths(self):
        return *ODD_PATHS, "doubled//slash.parquet", "a/./b.parquet", "/leading.parquet"


class TestMockFileLister(Computed, FileListerContract):
    @pytest.fixture
    def open_lister(self, given):
        return lambda: MockFileLister.from_options(given)

    @pytest.fixture
    def unlistable(self):
        return COMPUTED


class TestMockFileListerWithAFile(ChangesInAFile, TestMockFileLister):
    pass


class TestMockFileDeleter(Computed, FileDeleterContract):
    @pytest.fixture
    def open_deleter(self, given):
        return lambda: MockFileDeleter.from_options(given)

    @pytest.fixture
    def stored_paths(self, given):
        lister = MockFileLister.from_options(given)
        return lambda location: {file.path for file in lister.list_files(location)}

    @pytest.fixture
    def undeletable(self):
        return NotPossible("nobody locks the files of a computed lake")

    @pytest.fixture
    def has_directory(self):
        return NotPossible("a computed lake has no directories")

    @pytest.fixture
    def name_of_directory(self):
        return NotPossible("a computed lake has no directories")


class TestMockFileDeleterWithAFile(ChangesInAFile, TestMockFileDeleter):
    pass


class TestMockRepository(RepositoryConnectorContract):
    @pytest.fixture
    def open_repository(self, given):
        return lambda: MockRepository.from_options(given)

    @pytest.fixture
    def expected_references(self):
        return {
            "main": ReferenceKind.BRANCH,
            "branch-1": ReferenceKind.BRANCH,
            "tag-2": ReferenceKind.TAG,
            "branch-3": ReferenceKind.BRANCH,
            "tag-4": ReferenceKind.TAG,
            "branch-5": ReferenceKind.BRANCH,
        }

    @pytest.fixture
    def commit_once(self, spec):
        def commit():
            MockChanges.of(spec).commit()
            return "main"

        return commit

    @pytest.fixture
    def detached(self, spec):
        commit_id = MockLake(spec).history.commit_id(Snapshot(0, 1))
        return Reference(name="gone", kind=ReferenceKind.TAG, commit_id=commit_id)

    @pytest.fixture
    def unavailable(self):
        return COMPUTED

    @pytest.fixture
    def refusing(self):
        return COMPUTED

    @pytest.fixture
    def nonsense(self):
        return COMPUTED

    @pytest.fixture
    def missing_repository(self):
        return COMPUTED

    @pytest.fixture
    def breaking_off(self):
        return COMPUTED

    @pytest.fixture
    def incoherent(self):
        return COMPUTED

    @pytest.fixture
    def break_table(self):
        return COMPUTED

    @pytest.fixture
    def other_addresses(self):
        return NotPossible("a computed lake has one name")


class TestMockContentToFiles(ContentToFilesContract):
    @pytest.fixture
    def open_reader(self, given):
        return lambda: MockContentToFiles.from_options(given)

    @pytest.fixture
    def contents(self, spec):
        lake = MockLake(spec)
        with MockRepository(spec) as repository:
            heads = list(repository.references())
            return [written(lake, version) for head in heads for version in repository.contents(head)]

    @pytest.fixture
    def missing(self, contents):
        version = contents[0].version
        return replace(version, metadata_location=version.metadata_location.replace("/00000-", "/00009-"))

    @pytest.fixture
    def unreadable(self, contents, spec):
        version, put = contents[0].version, MockChanges.of(spec).put
        return [
            replace(version, metadata_location=put(f"mock://bad/metadata/{number}.metadata.json", text))
            for number, text in enumerate([b"", b"{", b"{}"])
        ]

    @pytest.fixture
    def missing_file(self, contents):
        return ReachableFile(path=f"{contents[0].location}/metadata/none-m0.avro", kind=FileKind.MANIFEST)

    @pytest.fixture
    def unreadable_files(self, contents, spec):
        path = MockChanges.of(spec).put(f"{contents[0].location}/metadata/bad-m0.avro", b"bad")
        truncated = MockLake(replace(spec, broken_share=1.0))
        manifests = (truncated.layout.block(Snapshot(0, position), Role.MANIFEST) for position in range(spec.commits))
        broken = next(manifest for manifest in manifests if truncated.is_truncated(manifest))
        assert truncated.content(truncated.layout.path(broken))
        data = truncated.layout.path(truncated.layout.block(Snapshot(0, 0), Role.DATA))
        return [ReachableFile(path=each, kind=FileKind.MANIFEST) for each in (path, data)]


def written(lake, version):
    """A version, and the files that it needs by the layout of the lake."""
    block, _ = lake.layout.find(version.metadata_location)

    def files(snapshot, *roles):
        blocks = [lake.layout.block(snapshot, role) for role in roles]
        return {lake.layout.path(block, index) for block in blocks for index in range(block.count)}

    def below(snapshot):
        found = files(snapshot, Role.MANIFEST_LIST, Role.STATISTICS)
        for each in lake.history.sharing(snapshot):
            found |= files(each, Role.MANIFEST, Role.DATA)
            if lake.history.has_deletes(each):
                found |= files(each, Role.DELETE_MANIFEST, Role.DELETES)
        return found

    return WrittenContent(
        version=version,
        location=lake.layout.location(block.table),
        needed=frozenset(below(block.snapshot) | {version.metadata_location}),
        dead=frozenset(files(Snapshot(0, 0), Role.METADATA) - {version.metadata_location}),
        listed=frozenset().union(*(below(snapshot) for snapshot in lake.history.listed(block.snapshot))),
    )
