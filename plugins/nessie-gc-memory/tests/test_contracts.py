from __future__ import annotations

import functools
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from nessie_gc_memory import (
    MemoryContentToFiles,
    MemoryFileDeleter,
    MemoryFileLister,
    MemoryLake,
    MemoryLiveSetStore,
    MemoryRepository,
    MemoryScheduleStore,
    delete,
    put,
    put_namespace,
    save_history,
    unchanged,
)

from nessie_gc_core.errors import ListingError
from nessie_gc_core.model.files import FileKind, ReachableFile
from nessie_gc_core.model.repository import ReferenceKind
from nessie_gc_core.testing import NotPossible
from nessie_gc_core.testing.content_to_files import ContentToFilesContract, WrittenContent
from nessie_gc_core.testing.file_deleter import FileDeleterContract
from nessie_gc_core.testing.file_fixtures import FileStoreFixtures
from nessie_gc_core.testing.file_lister import FileListerContract
from nessie_gc_core.testing.live_set_store import LiveSetStoreContract
from nessie_gc_core.testing.paths import ODD_PATHS
from nessie_gc_core.testing.repository import RepositoryConnectorContract
from nessie_gc_core.testing.schedule_store import ScheduleStoreContract

NEVER_DOWN = NotPossible("it reads the memory of its own process, which is never down")


@pytest.fixture
def lake():
    name = f"lake-{uuid4()}"
    yield MemoryLake.named(name)
    MemoryLake.forget(name)


class InMemory(FileStoreFixtures):
    """The back doors of a simulated store."""

    @pytest.fixture
    def location(self):
        return "memory://bucket/base/"

    @pytest.fixture
    def put_file(self, lake):
        return lambda location, path, data: lake.put(location + path, data)

    @pytest.fixture
    def put_directory(self, lake):
        return lambda location, path: lake.put(f"{location}{path}/", b"")

    @pytest.fixture
    def put_link(self):
        return NotPossible("a simulated store has no links")

    @pytest.fixture
    def odd_paths(self):
        return *ODD_PATHS, "doubled//slash.parquet", "a/./b.parquet", "/leading.parquet"


class TestMemoryFileLister(InMemory, FileListerContract):
    @pytest.fixture
    def open_lister(self, lake):
        return lambda: MemoryFileLister.from_options({"lake": lake.name})

    @pytest.fixture
    def unlistable(self, lake):
        def make(location):
            lake.faults.listing[location] = ListingError(f"cannot list {location}: it is broken")
            return location

        return make


class TestMemoryFileDeleter(InMemory, FileDeleterContract):
    @pytest.fixture
    def open_deleter(self, lake):
        return lambda: MemoryFileDeleter.from_options({"lake": lake.name})

    @pytest.fixture
    def stored_paths(self, lake):
        return lambda location: {path.removeprefix(location) for path, _ in lake.objects.below(location)}

    @pytest.fixture
    def read_file(self, lake):
        return lambda location, path: lake.objects.get(location + path).data

    @pytest.fixture
    def show_object(self, lake):
        return lambda location, path: lake.objects.tagged(location + path)

    @pytest.fixture
    def put_tags(self, lake):
        return lambda location, path, tags: lake.objects.set_tags(location + path, tags)

    @pytest.fixture
    def undeletable(self, lake):
        def make(location):
            lake.faults.deleting[lake.put(location + "stuck")] = "it is locked"
            return "stuck"

        return make

    @pytest.fixture
    def has_directory(self, lake):
        return lambda location, path: lake.objects.get(f"{location}{path}/") is not None

    @pytest.fixture
    def name_of_directory(self):
        return "{}/".format


class TestMemoryFileDeleterOfVersions(TestMemoryFileDeleter):
    """The same where versions are kept."""

    @pytest.fixture
    def lake(self, lake):
        lake.objects.keeps_versions = True
        return lake

    @pytest.fixture
    def key_versions(self, lake):
        return lambda location, path: lake.objects.versions(location + path)

    @pytest.fixture
    def delete_version(self, lake):
        return lambda location, path, version: lake.objects.delete_version(location + path, version)


def build_history(lake):
    """Branches, tags, a merge, renames, drops, an empty branch and a commit that hides its operations."""
    lake.now = datetime(2026, 1, 1, tzinfo=UTC)
    table = lake.table("db.t", location="memory://warehouse/db/t")
    lake.commit("main", put_namespace("db"))
    for number in range(100):
        lake.advance(timedelta(minutes=1))
        table = table.append(f"{number}.parquet")
        lake.commit("main", put(table.version), unchanged("db"))
    lake.branch("dev/one", "main")
    lake.tag("v1", "main")
    lake.branch("empty")
    other = lake.table("db.other", location="memory://warehouse/db/other").append("a")
    lake.commit("dev/one", put(other.version))
    lake.commit("dev/one", delete("db.t"), put(table.version, key="db.renamed"))
    lake.commit("main", put(table.append("on-main").version, key="db.third"))
    lake.merge("dev/one", into="main")
    lake.commit("side", put(other.version), hides_operations=True)
    return {
        "main": ReferenceKind.BRANCH,
        "dev/one": ReferenceKind.BRANCH,
        "v1": ReferenceKind.TAG,
        "empty": ReferenceKind.BRANCH,
        "side": ReferenceKind.BRANCH,
    }


class TestMemoryRepository(RepositoryConnectorContract):
    @pytest.fixture
    def open_repository(self, lake, expected_references):
        return lambda: MemoryRepository.from_options({"lake": lake.name})

    @pytest.fixture
    def expected_references(self, lake):
        return build_history(lake)

    @pytest.fixture
    def commit_once(self, lake):
        def commit():
            lake.commit("main", delete("db.third"))
            return "main"

        return commit

    @pytest.fixture
    def detached(self, lake, expected_references):
        lake.branch("gone", "main")
        lake.commit("gone", delete("db.t"))
        return lake.drop("gone")

    @pytest.fixture
    def unavailable(self):
        return NEVER_DOWN

    @pytest.fixture
    def refusing(self):
        return NotPossible("it asks for no credentials")

    @pytest.fixture
    def nonsense(self):
        return NotPossible("a simulated lake always answers")

    @pytest.fixture
    def missing_repository(self):
        return NotPossible("a simulated lake is made on first use")

    @pytest.fixture
    def breaking_off(self):
        return NotPossible("a simulated lake has no pages")

    @pytest.fixture
    def incoherent(self):
        return NotPossible("a simulated lake says what it has")

    @pytest.fixture
    def break_table(self):
        return NotPossible("it reads no tables: the history names their states")

    @pytest.fixture
    def other_addresses(self):
        return NotPossible("a simulated lake has one name")


class TestMemoryRepositoryOfAFile(TestMemoryRepository):
    @pytest.fixture
    def open_repository(self, lake, expected_references, detached, tmp_path):
        path = save_history(lake.history, tmp_path / "history.json")
        return lambda: MemoryRepository.from_options({"lake": "none", "history_file": str(path)})

    @pytest.fixture
    def commit_once(self, lake, tmp_path):
        def commit():
            lake.commit("main", delete("db.third"))
            save_history(lake.history, tmp_path / "history.json")
            return "main"

        return commit

    @pytest.fixture
    def nonsense(self, open_repository, tmp_path):
        whole = (tmp_path / "history.json").read_text()
        texts = ["", "{", "[]", "\x00", "{}", whole[: len(whole) // 2]]
        return [functools.partial(_history_file, tmp_path / f"bad-{n}.json", text) for n, text in enumerate(texts)]

    @pytest.fixture
    def missing_repository(self, tmp_path):
        return [functools.partial(_history_file, tmp_path / "none.json")]

    @pytest.fixture
    def other_addresses(self, open_repository, tmp_path):
        (tmp_path / "link").symlink_to(tmp_path)
        return [functools.partial(_history_file, tmp_path / "link" / "." / "history.json")]


def _history_file(path, text=None):
    if text is not None:
        path.write_text(text)
    return MemoryRepository.from_options({"lake": "none", "history_file": str(path)})


def build_tables(lake):
    """States of one table: empty, appended, overwritten, expired, held, moved; each with what it needs."""
    empty = lake.table("db.t", location="memory://warehouse/db/t")
    one = empty.append("a.parquet", "b c%20.parquet")
    two = one.append("c.parquet")
    three = two.overwrite("d.parquet")
    held, expired = three.hold(1), three.expire(1, 2)
    moved = expired.move_to("memory://warehouse/db/t-moved").append("e.parquet")
    beside = moved.writing_to("memory://warehouse/all", "").append("memory://warehouse/all/f.parquet")
    states = [empty, one, two, three, held, expired, moved, beside]
    older = replace(three, current=1)
    everything = {path for state in states for path in state.needed}
    contents = [
        WrittenContent(
            version=state.version,
            location=state.location,
            needed=state.needed,
            dead=frozenset(everything - state.needed),
            shared=frozenset(state.writes_to),
        )
        for state in (*states, older)
    ]
    listed = one.needed | two.needed | three.needed
    several = replace(contents[3], listed=frozenset(listed - {one.metadata_location, two.metadata_location}))
    return [*contents[:3], several, *contents[4:]]


class TestMemoryContentToFiles(ContentToFilesContract):
    @pytest.fixture
    def open_reader(self, lake):
        return lambda: MemoryContentToFiles.from_options({"lake": lake.name})

    @pytest.fixture
    def contents(self, lake):
        return build_tables(lake)

    @pytest.fixture
    def base(self):
        return "memory://warehouse/bad/metadata"

    @pytest.fixture
    def write(self, lake):
        return lake.put

    @pytest.fixture
    def missing(self, lake, base):
        version = lake.table("db.t", location="memory://warehouse/db/t").version
        return replace(version, metadata_location=f"{base}/none.metadata.json")

    @pytest.fixture
    def unreadable(self, missing, base, write):
        texts = [b"", b"{", b"[]", b"\x00\xff", b'{"memory": "manifest", "files": []}', b'{"memory": "metadata"}']
        return [
            replace(missing, metadata_location=write(f"{base}/{number}.metadata.json", text))
            for number, text in enumerate(texts)
        ]

    @pytest.fixture
    def missing_file(self, base):
        return ReachableFile(path=f"{base}/none-manifest.json", kind=FileKind.MANIFEST)

    @pytest.fixture
    def unreadable_files(self, base, write):
        texts = [b"", b"{}", json.dumps({"memory": "manifest", "files": [1]}).encode()]
        return [
            ReachableFile(path=write(f"{base}/{number}-manifest.json", text), kind=FileKind.MANIFEST)
            for number, text in enumerate(texts)
        ]


class TestMemoryContentToFilesOnADisk(TestMemoryContentToFiles):
    @pytest.fixture
    def open_reader(self):
        return lambda: MemoryContentToFiles.from_options({"lake": "none"})

    @pytest.fixture
    def contents(self, lake, tmp_path):
        contents = build_tables(lake)
        lake.write_to(tmp_path / "a lake")

        def moved(path):
            return path.replace("memory://", f"file://{tmp_path}/a lake/")

        return [
            WrittenContent(
                version=replace(content.version, metadata_location=moved(content.version.metadata_location)),
                location=moved(content.location),
                needed=frozenset(map(moved, content.needed)),
                dead=frozenset(map(moved, content.dead)),
                listed=frozenset(map(moved, content.listed)),
                shared=frozenset(map(moved, content.shared)),
            )
            for content in contents
        ]

    @pytest.fixture
    def base(self, tmp_path):
        return str(tmp_path)

    @pytest.fixture
    def write(self, tmp_path):
        def write(path, data):
            (tmp_path / path).write_bytes(data)
            return path

        return write


class MemoryStore(LiveSetStoreContract):
    @pytest.fixture
    def unusable(self):
        return NEVER_DOWN


class TestMemoryLiveSetStore(MemoryStore):
    @pytest.fixture
    def open_store(self):
        name = f"store-{uuid4()}"
        return lambda: MemoryLiveSetStore.from_options({"store": name})


class TestMemoryLiveSetStoreOfOnesOwn(MemoryStore):
    outlives_processes = False

    @pytest.fixture
    def open_store(self):
        return lambda: MemoryLiveSetStore.from_options({})


class TestMemoryScheduleStore(ScheduleStoreContract):
    @pytest.fixture
    def open_schedules(self):
        options = {"store": str(uuid4())}
        return lambda: MemoryScheduleStore.from_options(options)

    @pytest.fixture
    def unusable(self):
        return NEVER_DOWN
