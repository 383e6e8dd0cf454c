"""S8: with an inventory in place of a listing, whatever its age, nothing goes that a listing of now would leave."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from collecting import in_memory
from histories import lakes, policies
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inventories import FORMATS, S3Inventory, Stored
from nessie_gc_memory import MemoryLake
from oracle import deletable
from thoroughness import examples

from nessie_gc_core.model.policies import ReferencePolicies
from nessie_gc_core.services.parameters import SweepParameters

DAY = timedelta(days=1)


@given(lakes(), policies, st.integers(0, 72), st.sampled_from(FORMATS), st.randoms(use_true_random=False))
@settings(max_examples=examples(5), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_s08_nothing_goes_that_a_listing_would_leave(
    lake: MemoryLake, policy: str, hours: int, format_: str, random: Random
) -> None:
    services = in_memory(lake).choosing(scheme_aliases={"memory": "s3"})
    parsed = ReferencePolicies.parse(policy, reference_time=lake.time)
    made = lake.time - timedelta(hours=hours)
    before = lake.paths()
    times = {path: file.modified for path, file in lake.objects.below("memory://")}
    by_listing = deletable(lake, services.repository, policies=parsed, newest=lake.time - DAY)
    rows: dict[str, list[Stored]] = {}
    for path in sorted(before):
        bucket, _, key = path.removeprefix("memory://").partition("/")
        if random.random() < 0.9:  # others are newer than the inventory, which has all the rest as older than they are
            rows.setdefault(bucket, []).append(Stored(key, min(times[path], made - 10 * DAY)))

    with TemporaryDirectory() as folder, services.engine:
        written = [
            S3Inventory(folder=Path(folder) / bucket, bucket=bucket, format=format_).write(some, made=made)
            for bucket, some in rows.items()
        ]
        if written:
            services.collect(policy, sweep=SweepParameters(file_list=[str(path) for path in written]))

    gone = before - lake.paths()
    assert gone <= by_listing
    assert all(times[path] <= made - DAY for path in gone)
