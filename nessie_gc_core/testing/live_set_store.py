"""What every live-set store has to do (:class:`nessie_gc_core.connectors.LiveSetStore`)."""

from __future__ import annotations

from nessie_gc_core.testing.live_set_lifecycle import LifecycleTests
from nessie_gc_core.testing.live_set_machine import MachineTests
from nessie_gc_core.testing.live_set_registers import RegisterTests
from nessie_gc_core.testing.live_set_rows import RowTests


class LiveSetStoreContract(LifecycleTests, RowTests, RegisterTests, MachineTests):
    """Inherit it and give it one fixture.

    Required:
        ``open_store``: a function that opens a store that is ready for use. Called again in the same test, it opens
        the same one; in the next test another one, or the same with whatever earlier tests left in it.

    Set ``outlives_processes = False`` for a store that is gone when its last opening is closed.
    """
