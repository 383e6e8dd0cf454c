from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from nessie_gc_memory import (
    MemoryContentToFiles,
    MemoryFileLister,
    MemoryLake,
    MemoryRepository,
    content,
    delete,
    load_history,
    put,
)

from nessie_gc_core.errors import ConfigurationError, ReferenceNotFoundError, RepositoryError, UnreadableFileError
from nessie_gc_core.model.files import FileReference
from nessie_gc_core.model.repository import ICEBERG_TABLE

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def lake(request):
    name = request.node.nodeid
    yield MemoryLake.named(name)
    MemoryLake.forget(name)


@pytest.fixture
def repository(lake):
    return MemoryRepository.from_options({"lake": lake.name})


def history_of(lake):
    lake.now = NOON
    table = lake.table("db.t", location="memory://w/t")
    one = lake.commit("main", put(table.version))
    lake.branch("dev", "main")
    two = lake.commit("dev", put(table.append("a").version), time=NOON + timedelta(hours=1))
    three = lake.commit("main", put(content("db.ice", metadata_location="s3://b/ice/v1.metadata.json")))
    return one, two, three


def test_the_same_history_has_the_same_commit_ids():
    assert history_of(MemoryLake()) == history_of(MemoryLake())


def test_a_merge_is_one_commit_with_what_the_other_branch_changed(lake):
    _, two, three = history_of(lake)
    merged = lake.history.commit_of(lake.merge("dev", into="main"))
    assert (three, two) == (merged.parent_id, merged.merged_id)
    assert ["db.t"] == [operation.content_key for operation in merged.operations]
    assert {"db.t", "db.ice"} == set(lake.history.state_at(merged.commit_id))
    again = lake.history.commit_of(lake.merge("dev", into="main"))
    assert () == again.operations


def test_contents_of_other_types_are_kept_as_they_are(lake, repository):
    history_of(lake)
    (iceberg,) = [
        found for found in repository.contents(lake.history.reference("main")) if found.content_type == ICEBERG_TABLE
    ]
    assert "s3://b/ice/v1.metadata.json" == iceberg.metadata_location


def test_references_can_be_assigned_and_dropped(lake):
    one, two, _ = history_of(lake)
    lake.tag("v", two)
    lake.assign("v", one)
    assert one == lake.history.reference("v").commit_id
    lake.drop("v")
    with pytest.raises(ReferenceNotFoundError, match="'v'"):
        lake.history.reference("v")
    with pytest.raises(RepositoryError, match="already exists"):
        lake.branch("main")


def test_a_tag_takes_no_commits(lake):
    history_of(lake)
    lake.tag("v", "main")
    with pytest.raises(RepositoryError, match="is a tag"):
        lake.commit("v", delete("db.t"))


def test_what_was_fetched_is_counted(lake, repository):
    one, two, _ = history_of(lake)
    list(repository.commit_log(lake.history.reference("dev")))
    list(repository.commit_log(lake.history.reference("main")))
    assert 4 == repository.entries_fetched == lake.counts.entries_fetched
    assert (2, 1) == (lake.counts.fetched[one], lake.counts.fetched[two])


def test_faults_strike_where_they_were_put(lake, repository):
    one, _, three = history_of(lake)
    lake.faults.log[one] = lake.faults.contents[three] = lake.faults.references = RepositoryError("on purpose")
    log = repository.commit_log(lake.history.reference("main"))
    assert three == next(log).commit_id
    for act in (
        lambda: next(log),
        lambda: list(repository.references()),
        lambda: list(repository.contents(lake.history.reference("main"))),
    ):
        with pytest.raises(RepositoryError, match="on purpose"):
            act()


def test_a_listing_shows_the_faults_of_the_store(lake):
    lister = MemoryFileLister.from_options({"lake": lake.name})
    hidden, timeless = lake.put("memory://b/t/hidden"), lake.put("memory://b/t/timeless")
    outside = FileReference(location="memory://b/u/", path="x")
    lake.faults.unlisted.add(hidden)
    lake.faults.unknown_modified.add(timeless)
    lake.faults.listed_besides["memory://b/t/"] = [outside]
    assert [FileReference(location="memory://b/t/", path="timeless", size=100), outside] == list(
        lister.list_files("memory://b/t/")
    )


def test_the_needed_files_of_a_state_are_known_without_reading(lake):
    table = lake.table("db.t", location="memory://w/t").append("a").overwrite("b")
    lake.put("memory://w/t/data/garbage")
    needed = lake.needed_files([table.version])
    assert "memory://w/t/data/b" in needed
    assert not {"memory://w/t/data/a", "memory://w/t/data/garbage"} & needed


def test_a_lake_that_is_written_has_its_files_their_times_and_its_history(lake, tmp_path):
    history_of(lake)
    lake.put("memory://w/t/data/old ü%20", 12_345, modified=NOON - timedelta(days=30, microseconds=1))
    history = load_history(lake.write_to(tmp_path))
    assert [each.commit_id for each in lake.history.commits()] == [each.commit_id for each in history.commits()]
    assert lake.history.references() == history.references()
    old = (tmp_path / "w/t/data/old ü%20").stat()
    assert (12_345, (NOON - timedelta(days=30, microseconds=1)).timestamp()) == (old.st_size, old.st_mtime)
    (version,) = history.state_at(history.resolve("dev")).values()
    reader = MemoryContentToFiles.from_options({"lake": "none"})
    files = list(reader.files(version))
    assert {f"file://{tmp_path}/w/t"} == {file.location for file in files}
    assert all(file.path.startswith(f"file://{tmp_path}/w/t/") for file in files)


@pytest.mark.parametrize("key", ["a//b", "a/../b", "a/", "./a"])
def test_a_key_that_no_disk_holds_is_refused(lake, tmp_path, key):
    lake.put(f"memory://w/{key}")
    with pytest.raises(ConfigurationError, match="a disk cannot store"):
        lake.write_to(tmp_path)


def test_a_history_file_that_is_none_is_one_line(tmp_path):
    path = tmp_path / "history.json"
    path.write_text("{}")
    for given in (path, tmp_path / "missing"):
        repository = MemoryRepository.from_options({"history_file": str(given)})
        with pytest.raises(RepositoryError, match=str(given)) as caught:
            list(repository.references())
        assert 1 == len(str(caught.value).splitlines())


def test_a_memory_path_in_a_process_without_the_lake_is_unreadable_and_not_missing(lake):
    table = lake.table("db.t", location="memory://w/t")
    reader = MemoryContentToFiles.from_options({"lake": "elsewhere"})
    with pytest.raises(UnreadableFileError, match="no simulated lake 'elsewhere'") as caught:
        list(reader.files(table.version))
    assert not isinstance(caught.value, FileNotFoundError)
