"""Files that are hidden in GCS buckets: others who write and delete at the same moment, kills, locks, and times."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from nessie_gc_iceberg_files.gcs_generations import Generation, as_versions
from nessie_gc_iceberg_files.gcs_store import GcsStore
from versioned_gcs import BUCKET, versioned_gcs

from nessie_gc_core.model import FileVersion, KeyVersion, VersionStatus
from nessie_gc_core.model.versions import to_show

pytestmark = pytest.mark.server


@pytest.fixture
def gcs():
    with versioned_gcs() as server:
        yield server


@pytest.fixture
def versions(gcs):
    store = GcsStore(BUCKET, gcs.properties)
    yield store.versions()
    store.close()


def listed(generation, path):
    return FileVersion(path=path, size=len(generation.data), modified=generation.created)


def hidden(versions, file):
    """The file with the ids that it is recorded with."""
    (said,) = versions.hide("", [file])
    assert VersionStatus.DONE is said.status, said.reason
    return replace(file, version=said.version, marker=said.marker)


def kept(gcs, key):
    """The bytes of each generation, oldest first, and whether it is live."""
    return [(each.data, each.deleted is None) for each in gcs.kept.get(key, ())]


def test_s15_what_is_written_in_the_same_moment_stays_visible(gcs, versions):
    file = listed(gcs.put("a", b"old"), "a")
    gcs.before.append(("DELETE", lambda: gcs.put("a", b"new and longer")))
    (said,) = versions.hide("", [file])
    assert (VersionStatus.FAILED, "it was written again since it was listed") == (said.status, said.reason)
    assert [(b"old", False), (b"new and longer", True)] == kept(gcs, "a")


def test_s15_what_others_delete_in_the_same_moment_is_not_ours(gcs, versions):
    file = listed(gcs.put("a", b"x"), "a")
    gcs.before.append(("DELETE", lambda: gcs.delete("a")))
    (said,) = versions.hide("", [file])
    assert VersionStatus.FAILED is said.status
    assert "deleted at the same moment, by somebody else or by a request whose answer was lost" in said.reason
    assert [(b"x", False)] == kept(gcs, "a")


def test_s15_a_newer_file_that_comes_just_after_is_never_touched(gcs, versions):
    file = listed(gcs.put("a", b"old"), "a")
    # The look before the deletion is the first GET, the one after it the second.
    gcs.before.append(("DELETE", lambda: gcs.before.append(("GET", lambda: gcs.put("a", b"newer")))))
    held = hidden(versions, file)
    (shown,) = versions.show("", [held])
    assert (VersionStatus.EXISTS, [(b"old", False), (b"newer", True)]) == (shown.status, kept(gcs, "a"))
    (purged,) = versions.purge("", [held])
    assert (VersionStatus.DONE, [(b"newer", True)]) == (purged.status, kept(gcs, "a"))


def test_s15_a_file_that_is_written_while_another_is_restored_stays(gcs, versions):
    held = hidden(versions, listed(gcs.put("a", b"old"), "a"))
    gcs.before.append(("POST", lambda: gcs.put("a", b"newer")))
    (said,) = versions.show("", [held])
    assert (VersionStatus.EXISTS, [(b"old", False), (b"newer", True)]) == (said.status, kept(gcs, "a"))


def test_s15_a_version_that_goes_while_it_is_restored_is_missing(gcs, versions):
    held = hidden(versions, listed(gcs.put("a", b"old"), "a"))
    gcs.before.append(("POST", lambda: gcs.delete("a", int(held.version))))
    (said,) = versions.show("", [held])
    assert (VersionStatus.MISSING, []) == (said.status, kept(gcs, "a"))


def test_s15_a_file_that_somebody_else_restores_at_the_same_moment_is_restored_once(gcs, versions):
    held = hidden(versions, listed(gcs.put("a", b"old"), "a"))
    gcs.before.append(("POST", lambda: gcs.put("a", b"old")))
    (said,) = versions.show("", [held])
    assert (VersionStatus.DONE, [(b"old", True)]) == (said.status, kept(gcs, "a"))


@pytest.mark.parametrize("with_ids", [True, False])
@pytest.mark.parametrize("answers", range(6))
def test_s15_a_restore_killed_after_any_request_goes_on(gcs, versions, answers, with_ids):
    gcs.calls_of_a_rewrite = 2
    file = listed(gcs.put("a", b"old"), "a")
    held = hidden(versions, file)
    gcs.answers = answers
    (cut,) = versions.show("", [held if with_ids else file])
    gcs.answers = None
    assert VersionStatus.DONE is not cut.status or answers == 5
    assert b"old" in [data for data, _ in kept(gcs, "a")]
    (said,) = versions.show("", [held if with_ids else file])
    # Without ids, and with nothing to compare with, a file of the same size may be another one.
    expected = VersionStatus.DONE if with_ids or answers < 5 else VersionStatus.EXISTS
    assert (expected, [(b"old", True)]) == (said.status, kept(gcs, "a"))


@pytest.mark.parametrize("answers", range(4))
def test_s15_a_hiding_killed_after_any_request_can_be_undone(gcs, versions, answers):
    file = listed(gcs.put("a", b"old"), "a")
    gcs.answers = answers
    list(versions.hide("", [file]))
    gcs.answers = None
    (said,) = versions.show("", [file])  # as it was announced, without ids
    assert (VersionStatus.DONE, [(b"old", True)]) == (said.status, kept(gcs, "a"))


@pytest.mark.parametrize("answers", range(3))
def test_s15_a_purge_killed_after_any_request_goes_on(gcs, versions, answers):
    gcs.put("a", b"older")
    held = hidden(versions, listed(gcs.put("a", b"old"), "a"))
    gcs.answers = answers
    (cut,) = versions.purge("", [held])
    gcs.answers = None
    (said,) = versions.purge("", [held])
    expected = VersionStatus.MISSING if answers == 2 else VersionStatus.DONE
    assert (expected, [(b"older", False)]) == (said.status, kept(gcs, "a"))
    assert (cut.status is VersionStatus.DONE) is (answers == 2)


@pytest.mark.parametrize("answers", range(4))
def test_s15_a_deletion_with_versions_killed_after_any_request_goes_on(gcs, versions, answers):
    gcs.put("a", b"older")
    file = listed(gcs.put("a", b"old"), "a")
    gcs.answers = answers
    list(versions.delete_all("", [file]))
    gcs.answers = None
    assert (b"old", True) in kept(gcs, "a") or not kept(gcs, "a"), "what is live goes last"
    (said,) = versions.delete_all("", [file])
    assert (VersionStatus.MISSING if answers == 3 else VersionStatus.DONE, []) == (said.status, kept(gcs, "a"))


def test_s15_what_is_written_while_versions_are_deleted_stays(gcs, versions):
    gcs.put("a", b"1")
    file = listed(gcs.put("a", b"22"), "a")
    gcs.before.append(("DELETE", lambda: gcs.put("a", b"new")))
    (said,) = versions.delete_all("", [file])
    assert (VersionStatus.DONE, 1, 1) == (said.status, said.older, said.older_bytes)
    assert [(b"new", True)] == kept(gcs, "a")


def test_s15_a_locked_version_is_not_purged_and_the_store_says_why(gcs, versions):
    held = hidden(versions, listed(gcs.put("a", b"x"), "a"))
    gcs.locked.add(int(held.version))
    (purged,) = versions.purge("", [held])
    assert (VersionStatus.FAILED, [(b"x", False)]) == (purged.status, kept(gcs, "a"))
    assert "the store says no" in purged.reason


def test_s15_a_restored_file_whose_original_is_locked_is_visible_and_is_finished_later(gcs, versions):
    held = hidden(versions, listed(gcs.put("a", b"x"), "a"))
    gcs.locked.add(int(held.version))
    (said,) = versions.show("", [held])
    assert (VersionStatus.FAILED, [(b"x", False), (b"x", True)]) == (said.status, kept(gcs, "a"))
    assert f"it is visible again, but its noncurrent version {held.version} could not be deleted" in said.reason
    gcs.locked.clear()
    (purged,) = versions.purge("", [held])
    assert (VersionStatus.DONE, [(b"x", True)]) == (purged.status, kept(gcs, "a")), "only the original is purged"


def test_s15_where_versioning_is_switched_off_at_the_last_moment_it_is_no_quarantine(gcs, versions):
    file = listed(gcs.put("a", b"x"), "a")
    gcs.before.append(("DELETE", gcs.settings.clear))
    (said,) = versions.hide("", [file])
    assert VersionStatus.FAILED is said.status
    assert "its bucket kept no noncurrent version of it" in said.reason


def test_s15_once_versioning_is_off_nothing_more_is_deleted(gcs, versions):
    files = [listed(gcs.put(f"{number}", b"x"), f"{number}") for number in range(60)]
    gcs.before.append(("DELETE", lambda: gcs.settings.update(versioning={"enabled": False})))
    said = list(versions.hide("", files))
    assert {VersionStatus.FAILED} == {each.status for each in said}
    assert 20 < sum(each.reason.startswith("its bucket kept no noncurrent version of another file") for each in said)
    left = {each.path for each in said if kept(gcs, each.path)}
    assert 20 < len(left)
    again = list(versions.hide("", [file for file in files if file.path in left]))
    assert all("is off; enable it" in each.reason for each in again)
    assert left == {file.path for file in files if kept(gcs, file.path)}


def test_s15_what_a_lifecycle_rule_took_is_missing(gcs, versions):
    held = hidden(versions, listed(gcs.put("a", b"x"), "a"))
    gcs.delete("a", int(held.version))
    assert [VersionStatus.MISSING] * 2 == [
        said.status for verb in (versions.show, versions.purge) for said in verb("", [held])
    ]


def test_s15_another_file_of_the_same_size_is_not_what_was_restored(gcs, versions):
    held = hidden(versions, listed(gcs.put("a", b"old"), "a"))
    gcs.delete("a", int(held.version))
    gcs.put("a", b"new")
    (shown,) = versions.show("", [held])
    (purged,) = versions.purge("", [held])
    assert [VersionStatus.MISSING] * 2 == [shown.status, purged.status]
    assert [(b"new", True)] == kept(gcs, "a")


def test_s15_a_record_without_ids_of_a_version_that_is_gone_is_never_called_restored(gcs, versions):
    file = listed(gcs.put("a", b"old"), "a")
    gcs.delete("a", int(hidden(versions, file).version))
    gcs.put("a", b"new")
    (shown,) = versions.show("", [file])
    (purged,) = versions.purge("", [file])
    assert [VersionStatus.EXISTS, VersionStatus.RELEASED] == [shown.status, purged.status]
    assert [(b"new", True)] == kept(gcs, "a")


def test_s15_two_generations_of_one_file_are_released_one_by_one(gcs, versions):
    first = hidden(versions, listed(gcs.put("a", b"x"), "a"))
    second = hidden(versions, listed(gcs.put("a", b"x"), "a"))
    (said,) = versions.show("", [first])
    assert (VersionStatus.FAILED, [(b"x", False)] * 2) == (said.status, kept(gcs, "a"))
    (purged,) = versions.purge("", [first])
    assert (VersionStatus.DONE, [(b"x", False)]) == (purged.status, kept(gcs, "a"))
    (said,) = versions.show("", [second])
    assert (VersionStatus.DONE, [(b"x", True)]) == (said.status, kept(gcs, "a"))


@pytest.mark.parametrize("same_second", [True, False])
def test_s15_a_record_without_ids_does_not_mean_the_version_of_another_record(gcs, versions, same_second):
    gcs.time = datetime(2026, 1, 1, tzinfo=UTC)
    first = listed(gcs.put("a", b"x"), "a")
    held = hidden(versions, first)
    assert [VersionStatus.DONE] == [said.status for said in versions.purge("", [held])]  # and then it was killed
    gcs.time += timedelta(seconds=0 if same_second else 5)
    second = hidden(versions, listed(gcs.put("a", b"x"), "a"))
    statuses = [said.status for verb in (versions.show, versions.purge) for said in verb("", [first])]
    assert ([VersionStatus.MISSING] * 2, [(b"x", False)]) == (statuses, kept(gcs, "a"))
    assert [VersionStatus.DONE] == [said.status for said in versions.show("", [second])]


def test_s15_of_several_versions_with_one_size_and_time_none_is_touched(gcs, versions):
    gcs.time = datetime(2026, 1, 1, tzinfo=UTC)
    hidden(versions, listed(gcs.put("a", b"x"), "a"))
    hidden(versions, listed(gcs.put("a", b"x"), "a"))
    file = FileVersion(path="a", size=1, modified=datetime(2026, 1, 1, tzinfo=UTC))
    said = [said for verb in (versions.show, versions.purge) for said in verb("", [file])]
    assert [VersionStatus.FAILED] * 2 == [each.status for each in said]
    assert "which one is meant is unknown" in said[0].reason
    assert [(b"x", False)] * 2 == kept(gcs, "a")


def test_a_listing_of_one_key_ends_where_other_keys_begin(gcs, versions):
    for number in range(250):
        gcs.put(f"a{number}", b"x")
    file = listed(gcs.put("a", b"x"), "a")
    gcs.asked.clear()
    hidden(versions, file)
    assert 4 == len(gcs.asked), "whether the bucket keeps versions, and three requests for the file"


def test_all_pages_of_a_key_are_read(gcs, versions, monkeypatch):
    monkeypatch.setattr("nessie_gc_iceberg_files.gcs_versions._PAGE", 2)
    for number in range(5):
        file = listed(gcs.put("a", b"x" * number), "a")
    gcs.put("a2", b"x")
    (said,) = versions.delete_all("", [file])
    assert (VersionStatus.DONE, 4, []) == (said.status, said.older, kept(gcs, "a"))


@pytest.mark.parametrize("key", [".", ".."])
def test_s04_keys_that_would_reach_the_bucket_itself_are_refused(gcs, versions, key):
    file = listed(gcs.put(key, b"x"), key)
    assert [VersionStatus.FAILED] * 4 == [
        said.status
        for verb in (versions.hide, versions.show, versions.purge, versions.delete_all)
        for said in verb("", [file])
    ]
    assert ([f"GET /storage/v1/b/{BUCKET}"], [(b"x", True)]) == (gcs.asked, kept(gcs, key)), "only the settings"


# ---- times ----------------------------------------------------------------------------------------------
def generation(number, *, updated, deleted=None, created=0):
    def at(seconds):
        return None if seconds is None else datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)

    return Generation(
        number=str(number), size=1, created=at(created), updated=at(updated), deleted=at(deleted), checksum="c"
    )


def test_s15_a_file_whose_metadata_changed_before_it_was_hidden_is_found_by_its_id():
    listed_at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=5)
    found = [generation(1, updated=9, deleted=9)]
    file = FileVersion(path="a", size=1, modified=listed_at, version="1", marker="1:c")
    assert isinstance(to_show(*as_versions(found, file)), KeyVersion)


def test_s15_a_file_whose_metadata_changes_when_it_is_hidden_is_found_by_when_it_was_written():
    found = [generation(1, updated=9, deleted=9)]
    file = FileVersion(path="a", size=1, modified=datetime(2026, 1, 1, tzinfo=UTC))
    assert isinstance(to_show(*as_versions(found, file)), KeyVersion)
