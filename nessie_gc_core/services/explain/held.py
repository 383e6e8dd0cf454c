"""Files that were asked for and are in quarantine."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from nessie_gc_core.algorithms.hide import HiddenPath
from nessie_gc_core.algorithms.restorable import restore_file
from nessie_gc_core.connectors import LiveSetStore, SupportsQuarantine
from nessie_gc_core.model.locations import LocationRules
from nessie_gc_core.model.object_tags import QUARANTINE_TAG
from nessie_gc_core.model.quarantine import HeldFile, HeldState, bucket_of_tags, bucket_of_versions
from nessie_gc_core.model.text import time_text
from nessie_gc_core.services.quarantine.places import with_places


def in_quarantine(
    store: LiveSetStore, places: Collection[str], rules: LocationRules, *, tagged: bool = False
) -> Mapping[str, str]:
    """Where the files of some places are held, and until when, in one line each, by place.

    Args:
        store: where quarantines are recorded; one that cannot record any has none.
        places: canonical paths.
        rules: what makes a path canonical.
        tagged: whether the files are at their paths, perhaps with a tag; otherwise they are not.
    """
    if not places or not isinstance(store, SupportsQuarantine):
        return {}
    return {
        place: _said(file)
        for place, file in with_places(store, rules)
        if place in places and (bucket_of_tags(file.place) is not None) is tagged
    }


def _said(file: HeldFile) -> str:
    where = f"it was moved to {file.place}{file.held_path} in quarantine"
    if bucket_of_versions(file.place) is not None:
        version = HiddenPath.parse(file.held_path).version
        named = f"as version {version} of its bucket" if version else "in its bucket"
        where = f"it is in quarantine, hidden {named}"
    if bucket_of_tags(file.place) is not None:
        where = f"it is in quarantine at its path, with the tag {QUARANTINE_TAG}={file.live_set_id}"
    if file.state is HeldState.PURGING:
        return f"{where}, and is being purged"
    undo = "brings it back" if bucket_of_tags(file.place) is None else "takes it off"
    restore = restore_file(file.location + file.path)
    return f"{where}; {restore} {undo} until {time_text(file.until)}"
