"""What a connector that counts its traffic must do, whatever its contract."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from nessie_gc_core.connectors import Connector, SupportsTraffic
from nessie_gc_core.model.work import Traffic
from nessie_gc_core.testing.demands import skip_without

COUNTED_ONCE = (
    "SupportsTraffic: requests are counted once, and told in the thread whose calls they are: the count starts again "
    "when it was asked for."
)


def check_traffic(connector: Connector, call: Callable[[], object]) -> None:
    """Asserts that the requests of a call are reported once, and in no other thread."""
    if not isinstance(connector, SupportsTraffic):
        skip_without(connector, SupportsTraffic)
    connector.take_traffic()  # of what the test did before
    call()
    if connector.shareable:
        with ThreadPoolExecutor(1) as pool:
            assert Traffic() == pool.submit(connector.take_traffic).result()
    counted = connector.take_traffic()
    assert counted.requests > 0
    assert counted.waited_seconds >= 0
    assert Traffic() == connector.take_traffic()
