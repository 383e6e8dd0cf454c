"""A live-set store for runs that only ask."""

from __future__ import annotations

import tempfile
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from nessie_gc_memory import MemoryLiveSetStore

from nessie_gc_core.connectors import LiveSetStore
from nessie_gc_core.errors import StoreError
from nessie_gc_core.model.live_sets import LiveSetStatus, ReferenceHead
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.services.aside import AsideStore

TIME = datetime(2026, 1, 1, tzinfo=UTC)
HEAD = ReferenceHead(name="main", commit_id="c1", policy="NONE")


@pytest.fixture
def real() -> LiveSetStore:
    return MemoryLiveSetStore.from_options({})


def version(content_id: str, metadata: str, commit_id: str = "c1") -> ContentVersion:
    return ContentVersion(
        content_id=content_id,
        content_type="ICEBERG_TABLE",
        metadata_location=metadata,
        snapshot_id=1,
        content_key=f"db.{content_id}",
        commit_id=commit_id,
        commit_time=TIME,
    )


def marked(store: LiveSetStore, *versions: ContentVersion, at: datetime = TIME) -> uuid.UUID:
    id_ = uuid.uuid4()
    store.start_identify(id_, repository="r", created=at)
    store.add_content_versions(id_, versions)
    store.finish_identify(id_, at=at, references_listed=at, heads=[HEAD])
    return id_


def test_what_is_marked_stays_here(real: LiveSetStore) -> None:
    with AsideStore(real) as aside:
        id_ = marked(aside, version("1", "a"), version("2", "b"), version("1", "c"))
        found = aside.get(id_)
        assert (LiveSetStatus.IDENTIFY_SUCCESS, (HEAD,), TIME) == (found.status, found.heads, found.references_listed)
        assert (3, 2) == aside.count_content_versions(id_)
        assert {"1", "2"} == set(aside.content_ids(id_))
        assert [version("1", "a"), version("1", "c")] == list(aside.content_versions(id_, ["1", "3"]))
        assert [] == list(aside.base_locations(id_))
        assert [] == list(real.live_sets())


def test_one_version_is_kept_once_wherever_it_was_seen(real: LiveSetStore) -> None:
    with AsideStore(real) as aside:
        id_ = uuid.uuid4()
        aside.start_identify(id_, repository="r", created=TIME)
        assert 1 == aside.add_content_versions(id_, [version("1", "a"), version("1", "a", "c2")])
        assert 0 == aside.add_content_versions(id_, [version("1", "a", "c3")])
        assert [version("1", "a")] == list(aside.content_versions(id_))


def test_the_live_sets_of_both_stores_are_seen_newest_first(real: LiveSetStore) -> None:
    old = marked(real, version("1", "a"))
    with AsideStore(real) as aside:
        mine = marked(aside, at=TIME + timedelta(days=1))
        new = marked(real, at=TIME + timedelta(days=2))
        assert [new, mine, old] == [each.id for each in aside.live_sets()]
        assert [version("1", "a")] == list(aside.content_versions(old))
        aside.delete(mine)
        assert [new, old] == [each.id for each in aside.live_sets()]


def test_nothing_of_the_real_store_changes(real: LiveSetStore) -> None:
    id_ = marked(real)
    with AsideStore(real) as aside:
        for change in (
            lambda: aside.start_expire(id_, at=TIME),
            lambda: aside.finish_expire(id_, at=TIME),
            lambda: aside.add_base_locations(id_, []),
            lambda: aside.record_steps(id_, []),
            lambda: aside.add_file_deletions(id_, []),
            lambda: aside.remove_file_deletions(id_, []),
            lambda: aside.add_tombstones("r", [], at=TIME),
            lambda: aside.register_contents("r", []),
            lambda: aside.move_records("r", "s"),
            lambda: aside.acquire_lease("r", "me", host="here", process=1, duration=timedelta(minutes=2)),
            lambda: aside.release_lease("r", "me"),
            lambda: aside.delete(id_),
            lambda: aside.add_content_versions(id_, []),
            lambda: aside.finish_identify(id_, at=TIME),
        ):
            with pytest.raises(StoreError, match="must not change"):
                change()
    assert [id_] == [each.id for each in real.live_sets()]


def test_it_notes_who_has_the_lease(real: LiveSetStore) -> None:
    with AsideStore(real) as aside:
        marked(aside)
        assert [] == aside.notes
        real.acquire_lease("r", "other", host="elsewhere", process=7, duration=timedelta(minutes=2))
        (note,) = aside.notes
        assert note.startswith("another run works on r (elsewhere, process 7, since ")


def test_it_notes_a_run_that_had_the_lease_when_it_began(real: LiveSetStore) -> None:
    real.acquire_lease("r", "other", host="elsewhere", process=7, duration=timedelta(minutes=2))
    with AsideStore(real) as aside:
        marked(aside)
        real.release_lease("r", "other")
        assert 1 == len(aside.notes)


def test_it_notes_a_run_by_the_live_set_that_it_made_or_deleted(real: LiveSetStore) -> None:
    old = marked(real)
    with AsideStore(real) as aside:
        marked(aside)
        assert [] == aside.notes
        real.delete(old)
        assert ["another run worked on r meanwhile, so this answer may already be out of date"] == aside.notes


def test_a_full_disk_is_an_error_that_names_the_folder(real: LiveSetStore, monkeypatch: pytest.MonkeyPatch) -> None:
    with AsideStore(real) as aside, Path("/dev/full").open("r+b", buffering=0) as full:
        monkeypatch.setattr(tempfile, "TemporaryFile", lambda: full)
        id_ = uuid.uuid4()
        aside.start_identify(id_, repository="r", created=TIME)
        with pytest.raises(StoreError, match=f"cannot keep content versions in {tempfile.gettempdir()}: .*space"):
            aside.add_content_versions(id_, [version("1", "a")])
