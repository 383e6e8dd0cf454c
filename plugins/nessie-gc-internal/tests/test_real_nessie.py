"""A real Nessie over a real PostgreSQL: what is alive answers as before, and nothing else is left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from uuid import uuid4

import pytest
import requests
from nessie_gc_internal import InternalGcReport
from nessie_gc_internal.objects import _commit, content_of
from nessie_gc_internal.service import Tell
from nessie_history import Nessie, random_history, table
from nessie_repository import Repository

from nessie_gc_core.testing.servers import PostgresServer, running

pytestmark = pytest.mark.server
_COMMIT_TYPE, _NORMAL = 11, 1
"""The field of a commit that says whether it is one of Nessie's own. Its bytes also occur in hashes of parents."""


def _purged(report: InternalGcReport) -> int:
    return report.total("purged").records


def _stored_user_commits(repository: Repository) -> set[str]:
    """The commits in the database, without those of Nessie's internal references."""
    rows = repository.sql("SELECT obj_id, obj_value FROM objs2 WHERE obj_type = 'c'")
    return {id_.hex() for id_, data in rows if _commit(data).number(_COMMIT_TYPE) == _NORMAL}


def _stored_states(repository: Repository) -> set[tuple[str, str]]:
    rows = repository.sql("SELECT obj_value FROM objs2 WHERE obj_type = 'v'")
    return {(content.content_id, content.metadata_location or "") for content in (content_of(data) for (data,) in rows)}


def _branch_with_tables(nessie: Nessie, count: int = 30) -> str:
    """A branch off main with so many tables, one commit each; gives its name."""
    name = f"branch-{uuid4().hex[:8]}"
    nessie.create(name, nessie.reference("main"))
    for number in range(count):
        nessie.commit(name, {f"table-with-a-long-name-{number:02}": table(f"{name}/{number}")})
    return name


def test_after_a_random_history_exactly_what_references_reach_is_left(repository: Repository, nessie: Nessie) -> None:
    random_history(nessie, seed=4, steps=50)
    nessie.delete(_branch_with_tables(nessie, 2))
    before = nessie.everything()
    report = repository.gc().plan().apply()
    assert before == nessie.everything()
    assert nessie.commits() == _stored_user_commits(repository)
    assert nessie.contents() == _stored_states(repository)
    assert _purged(report) > 0
    assert 0 == repository.gc().plan().would_purge.records


def test_records_of_deleted_branches_go_with_their_indexes(repository: Repository, nessie: Nessie) -> None:
    keep = _branch_with_tables(nessie)
    before = nessie.everything()
    nessie.delete(_branch_with_tables(nessie))
    report = repository.gc().plan().apply()
    assert before == {**nessie.everything()}
    assert keep in before["histories"]
    gone = {kind: tally.purged.records for kind, tally in report.kinds.items()}
    assert (30, 30, 30) == (gone["commits"], gone["contents"], gone["unique ids"])
    assert gone["indexes"] > 0
    assert gone["index segments"] > 0


def test_commits_of_a_deleted_branch_that_was_merged_stay(repository: Repository, nessie: Nessie) -> None:
    target = _branch_with_tables(nessie, 1)
    nessie.create("merged", nessie.reference(target))
    commit = nessie.commit("merged", {"merged": table("merged")})
    nessie.commit(target, {"other": table("other")})
    nessie.merge(target, nessie.reference("merged"))
    nessie.delete("merged")
    before = nessie.everything()
    assert commit in before["entries"]
    assert 0 == _purged(repository.gc().plan().apply())
    assert before == nessie.everything()


def test_a_restarted_server_answers_the_same(repository: Repository, nessie: Nessie) -> None:
    nessie.delete(_branch_with_tables(nessie, 5))
    before = nessie.everything()
    repository.gc().plan().apply()
    repository.server.stop()
    repository.server.start()
    with closing(Nessie(repository.server.uri)) as restarted:
        assert before == restarted.everything()


def test_s21_a_dry_run_changes_nothing(repository: Repository, nessie: Nessie) -> None:
    nessie.delete(_branch_with_tables(nessie, 5))
    rows = repository.sql("SELECT * FROM objs2 ORDER BY obj_id")
    plan = repository.gc().plan()
    assert plan.would_purge.records >= 15
    assert plan.report.dry_run
    assert rows == repository.sql("SELECT * FROM objs2 ORDER BY obj_id")


def test_s08_what_is_younger_than_the_grace_period_stays(repository: Repository, nessie: Nessie) -> None:
    nessie.delete(_branch_with_tables(nessie, 5))
    report = repository.gc(referenced_grace="PT1H").plan().apply()
    assert (0, 15) == (_purged(report), report.total("too_young").records)


def test_s08_a_young_commit_keeps_its_old_history(repository: Repository, nessie: Nessie) -> None:
    branch = _branch_with_tables(nessie, 5)
    repository.sql("UPDATE objs2 SET obj_ref = obj_ref - 86400000000")
    nessie.commit(branch, {"one-more": table(f"{branch}/one-more")})
    head = nessie.delete(branch)
    report = repository.gc(referenced_grace="PT12H").plan().apply()
    assert 0 == report.kinds["commits"].purged.records
    nessie.create_at(branch, head)
    assert 6 == len(nessie.entries(branch))


def test_a_reset_branch_keeps_where_it_pointed_within_the_grace_period(repository: Repository, nessie: Nessie) -> None:
    branch = _branch_with_tables(nessie, 3)
    head = nessie.reference(branch)
    nessie.reset(branch, nessie.reference("main"))
    repository.sql("UPDATE objs2 SET obj_ref = obj_ref - 86400000000")
    assert 0 == _purged(repository.gc(referenced_grace="PT12H").plan().apply())
    nessie.reset(branch, head)
    assert 3 == len(nessie.entries(branch))


def test_s08_a_branch_that_was_deleted_within_the_grace_period_stays_whole_however_old_it_is(
    repository: Repository, nessie: Nessie
) -> None:
    branch = _branch_with_tables(nessie, 5)
    head = nessie.delete(branch)
    repository.sql("UPDATE objs2 SET obj_ref = obj_ref - 86400000000")
    assert 0 == _purged(repository.gc(referenced_grace="PT12H").plan().apply())
    nessie.create_at(branch, head)
    assert 5 == len(nessie.entries(branch))
    nessie.delete(branch)
    assert 15 == _purged(repository.gc(referenced_grace="PT0S").plan().apply())


def test_s08_a_server_that_answers_from_its_cache_finds_all_of_what_was_deleted_within_the_grace_period(
    postgres_server: PostgresServer,
) -> None:
    cached = Repository(postgres_server, settings={})
    with running(lambda: cached.server), closing(Nessie(cached.server.uri)) as nessie:
        nessie.commit("main", {"first": table("first")})
        head = _deleted_with_all_reads(nessie)
        cached.sql("UPDATE objs2 SET obj_ref = obj_ref - 86400000000")
        assert 0 == _purged(cached.gc(referenced_grace="PT12H").plan().apply())
        nessie.create_at("back", head)
        before = nessie.everything()
        cached.server.stop()
        cached.server.start()
        with closing(Nessie(cached.server.uri)) as restarted:
            assert before == restarted.everything()
            restarted.commit("back", {"later": table("later")})


def test_a_server_without_a_cache_refuses_a_hash_that_was_purged(repository: Repository, nessie: Nessie) -> None:
    head = nessie.delete(_branch_with_tables(nessie, 2))
    repository.gc().plan().apply()
    with pytest.raises(AssertionError, match="NOT_FOUND"):
        nessie.create_at("back", head)


def _deleted_with_all_reads(nessie: Nessie) -> str:
    """The head of a branch that was deleted after all of it was read."""
    branch = _branch_with_tables(nessie, 3)
    nessie.history(nessie.reference(branch))
    nessie.entries(branch)
    return nessie.delete(branch)


def test_everything_answers_while_another_client_writes(repository: Repository, nessie: Nessie) -> None:
    for _ in range(3):
        nessie.delete(_branch_with_tables(nessie, 20))
    branch, ended, problems = _branch_with_tables(nessie, 3), threading.Event(), []

    def write() -> None:
        with closing(Nessie(repository.server.uri)) as other:
            number = 0
            while not ended.is_set():
                number += 1
                try:
                    other.commit(branch, {f"key-{number % 40}": table(f"{branch}/{number}")})
                    if not number % 5:
                        other.delete(other.create(f"{branch}-{number}", other.reference(branch))["name"])
                except (AssertionError, requests.RequestException) as error:
                    problems.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        report = repository.gc(purge_batch_size=7).plan().apply()
    finally:
        ended.set()
        writer.join()
    assert [] == problems
    assert _purged(report) > 60
    before = nessie.everything()
    repository.gc().plan().apply()
    assert before == nessie.everything()


def _once_after_the_mark(action: Callable[[], object]) -> Tell:
    """A callback for progress that does something once, when the references were read and nothing is deleted yet."""
    done: list[bool] = []

    def tell(phase: str, count: int, total: int | None) -> None:
        if not done:
            done.append(True)
            action()

    return tell


def test_s09_a_branch_that_is_created_meanwhile_at_an_unreferenced_commit_keeps_it(
    repository: Repository, nessie: Nessie
) -> None:
    branch = _branch_with_tables(nessie, 5)
    head = nessie.delete(branch)
    plan = replace(repository.gc().plan(), progress=_once_after_the_mark(lambda: nessie.create_at(branch, head)))
    report = plan.apply()
    assert 10 <= report.total("referenced_again").records
    assert 5 == len(nessie.entries(branch))


def test_a_content_that_is_written_again_meanwhile_stays(repository: Repository, nessie: Nessie) -> None:
    branch = _branch_with_tables(nessie, 1)
    (entry,) = nessie.entries(branch)
    key, state = entry["name"]["elements"][0], table("another state", entry["content"]["id"])
    nessie.create("gone", nessie.reference(branch))
    nessie.commit("gone", {key: state})
    nessie.delete("gone")
    again = _once_after_the_mark(lambda: nessie.commit(branch, {key: state}))
    report = replace(repository.gc().plan(), progress=again).apply()
    assert 0 == report.kinds["contents"].purged.records
    assert [state] == [each["content"] for each in nessie.entries(branch)]


def test_contents_that_no_live_commit_sees_are_named(repository: Repository, nessie: Nessie) -> None:
    branch = _branch_with_tables(nessie, 2)
    lost = nessie.entries(branch)
    nessie.commit(branch, {"table-with-a-long-name-00": table("later", lost[0]["content"]["id"])})
    nessie.delete(branch)
    found = repository.gc(contents=True, referenced_grace="PT1H").plan().report
    named = {each.content_id: each.metadata_location for each in found.contents or ()}
    assert named[lost[0]["content"]["id"]] == "s3://lake/later.metadata.json"
    assert named[lost[1]["content"]["id"]] == lost[1]["content"]["metadataLocation"]


def test_the_command_purges_and_prints_its_report(repository: Repository, nessie: Nessie) -> None:
    nessie.delete(_branch_with_tables(nessie, 2))
    command = [sys.executable, "-m", "nessie_gc_core", "internal-gc", "--referenced-grace", "0", "--no-age-floor"]
    environment = {**os.environ, "NESSIE_GC_NESSIE_JDBC_URL": repository.url}
    run = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False, env=environment)
    assert 0 == run.returncode, run.stderr
    assert 0 < json.loads(run.stdout)["purged"]["records"]
    assert 0 == repository.gc().plan().would_purge.records
