"""A process of the tests: ``store_worker.py URL add|expire|lease|open ...``; says on standard output what it got."""

from __future__ import annotations

import sys
from datetime import timedelta
from uuid import UUID

from nessie_gc_jdbc import JdbcLiveSetStore

from nessie_gc_core.errors import LeaseHeldError, LiveSetStateError
from nessie_gc_core.testing.live_set_samples import NOON, version


def act(store: JdbcLiveSetStore, verb: str, *arguments: str) -> object:
    if verb == "add":
        first, count = int(arguments[1]), int(arguments[2])
        return store.add_content_versions(UUID(arguments[0]), (version(n) for n in range(first, first + count)))
    if verb == "open":
        return len(list(store.live_sets()))
    try:
        if verb == "expire":
            store.start_expire(UUID(arguments[0]), at=NOON)
            return "started"
        store.acquire_lease("r", arguments[0], host="h", process=1, duration=timedelta(hours=1))
    except LiveSetStateError:
        return "refused"
    except LeaseHeldError:
        return "held"
    return "got"


if __name__ == "__main__":
    with JdbcLiveSetStore.from_options({"url": sys.argv[1], "schema": "CREATE_IF_NOT_EXISTS"}) as store:
        sys.stdout.write(f"{act(store, *sys.argv[2:])}\n")
