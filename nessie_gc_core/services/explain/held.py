"""Files that were asked for and are in quarantine."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from nessie_gc_core.connectors import LiveSetStore, SupportsQuarantine
from nessie_gc_core.errors import UnknownLocationError
from nessie_gc_core.model.locations import LocationRules
from nessie_gc_core.model.quarantine import HeldFile, HeldState


def in_quarantine(store: LiveSetStore, places: Collection[str], rules: LocationRules) -> Mapping[str, str]:
    """Where the files of some places are held, and until when, in one line each, by place.

    Args:
        store: where quarantines are recorded; one that cannot record any has none.
        places: canonical paths.
        rules: what makes a path canonical.
    """
    if not places or not isinstance(store, SupportsQuarantine):
        return {}
    return dict(_held(store, places, rules))


def _held(store: SupportsQuarantine, places: Collection[str], rules: LocationRules) -> Iterator[tuple[str, str]]:
    for file in store.held_files():
        try:
            place = rules.place(file.location + file.path)
        except UnknownLocationError:
            continue
        if place in places:
            yield place, _said(file)


def _said(file: HeldFile) -> str:
    where = f"it was moved to {file.place}{file.held_path} in quarantine"
    if file.state is HeldState.PURGING:
        return f"{where}, and is being purged"
    return f"{where}; `restore` brings it back until {file.until:%Y-%m-%d %H:%M:%S} UTC"
