"""S15: one repository is collected once at a time, and has one set of records, by whatever address it is reached."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from collecting import LakeServices
from lakes_by_hand import commit_and_let_age
from nessie_gc_memory import MemoryLake, MemoryLiveSetStore, MemoryRepository
from nessie_gc_nessie import NessieConnector

from nessie_gc_core.config.flags import with_flags
from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.errors import LeaseHeldError
from nessie_gc_core.services.mark import MarkService
from nessie_gc_core.services.mark_parameters import MarkParameters
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.services.records import RecordsService
from nessie_gc_core.testing.servers import NessieServer

DRY_RUN = SweepParameters(dry_run=True)
"""Others have put their tables on the server, too."""


class Renamed(MemoryRepository):
    """A repository that has a name now, and had its address as identity before."""

    def identity(self) -> str:
        return "lake-1"

    def former_identities(self) -> list[str]:
        return ["memory:a", super().identity()]


@pytest.fixture
def by_address(nessie: NessieServer) -> Iterator[Callable[[str], LakeServices]]:
    """Opens collectors of one server and one store by any address of the server."""
    store = MemoryLiveSetStore.from_options({})
    opened = []
    with LocalEngine(workers=1) as engine:

        def services(uri: str) -> LakeServices:
            opened.append(NessieConnector.from_options({"uri": uri}))
            return LakeServices(repository=opened[-1], store=store, engine=engine, clock=lambda: datetime.now(UTC))

        yield services
        for connector in opened:
            connector.close()


@pytest.mark.server
def test_s15_a_second_sweep_by_another_address_is_refused(
    nessie: NessieServer, by_address: Callable[[str], LakeServices]
) -> None:
    first = by_address(nessie.uri)
    second = by_address(nessie.uri.replace("127.0.0.1", "LocalHost") + "/")
    live_set = first.mark("1")
    refused = []

    def sweep_too(phase: str, done: int, total: int | None) -> None:
        with pytest.raises(LeaseHeldError, match="process"):
            second.sweep(live_set, DRY_RUN)
        refused.append(phase)

    first.sweep(live_set, DRY_RUN, progress=sweep_too)
    assert refused


@pytest.mark.server
def test_s15_what_was_marked_by_one_address_is_swept_by_another(
    nessie: NessieServer, by_address: Callable[[str], LakeServices]
) -> None:
    live_set = by_address(nessie.uri).mark("1")
    report = by_address(nessie.uri.replace("127.0.0.1", "localhost")).sweep(live_set, DRY_RUN)
    assert 0 == report.exit_code


def warnings_of_a_mark(services: LakeServices) -> list[str]:
    return MarkService(MarkParameters()).run(services.run()).warnings


def test_s15_records_left_behind_are_named_with_the_command_that_brings_them_and_prove_what_they_proved(
    lake: MemoryLake, services: LakeServices
) -> None:
    first = lake.table("db.t", location="memory://wh/db/t").append("a.parquet")
    second = first.overwrite("b.parquet")
    commit_and_let_age(lake, first, second)
    services.collect("1")
    assert first.metadata_location not in lake.paths()
    assert [] == warnings_of_a_mark(services)

    renamed = replace(services, repository=Renamed.from_options({"lake": lake.name}))
    (warning,) = warnings_of_a_mark(renamed)
    _, command = with_flags(warning).split("'nessie-gc move-records ")
    _, source, _, target = shlex.split(command.removesuffix("'"))
    assert (services.repository.identity(), "lake-1") == (source, target)
    assert 1 == renamed.collect("NONE").exit_code

    RecordsService(services.store).move(source, target, dry_run=False)
    report = renamed.collect("NONE")
    assert (1, 0, []) == (
        report.tolerated_missing,
        report.exit_code,
        [text for text in report.warnings if "move_records" in text],
    )
