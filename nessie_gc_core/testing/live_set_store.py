"""What every live-set store must do (:class:`nessie_gc_core.connectors.LiveSetStore`)."""

from __future__ import annotations

from typing import ClassVar

from nessie_gc_core.testing.live_set_digests import DigestTests
from nessie_gc_core.testing.live_set_java import JavaTableTests
from nessie_gc_core.testing.live_set_lifecycle import LifecycleTests
from nessie_gc_core.testing.live_set_machine import MachineTests
from nessie_gc_core.testing.live_set_quarantine import QuarantineTests
from nessie_gc_core.testing.live_set_registers import RegisterTests
from nessie_gc_core.testing.live_set_rows import RowTests
from nessie_gc_core.testing.live_set_situations import StoreSituationTests
from nessie_gc_core.testing.live_set_tags import TagRecordTests
from nessie_gc_core.testing.options import OptionsTests


class LiveSetStoreContract(
    LifecycleTests,
    RowTests,
    DigestTests,
    RegisterTests,
    TagRecordTests,
    QuarantineTests,
    JavaTableTests,
    StoreSituationTests,
    MachineTests,
    OptionsTests,
):
    """Inherit it and give it these fixtures.

    Required:
        ``open_store``: a function that opens a store that is ready for use: within a test always the same one; in the
        next test a new one, or the same with whatever earlier tests left in it.

    Situations, also required; return ``NotPossible("why")`` if the situation cannot exist:
        ``unusable``: a sequence of functions that open a store that cannot be used, one for each way in which that
        can happen: its file or server is missing, is damaged, or belongs to someone else.

    Required for a store that ``SupportsJavaTables``:
        ``put_java_rows``: a function that puts rows into new tables as the Java tool makes them, and returns a store
        that reads them.

    Set ``outlives_processes = False`` for a store that vanishes when it is closed for the last time.
    """

    opener: ClassVar[str] = "open_store"
