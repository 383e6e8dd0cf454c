"""Where quarantines are: which store has one, and that none of them is ever swept."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from nessie_gc_core.algorithms.hold import canonical_places
from nessie_gc_core.algorithms.units import SweepPlan
from nessie_gc_core.config.connectors import OpenConnectors
from nessie_gc_core.connectors import (
    LiveSetStore,
    SupportsHiding,
    SupportsMoves,
    SupportsObjectTags,
    SupportsQuarantine,
)
from nessie_gc_core.errors import ConfigurationError, NessieGcError, UnknownLocationError
from nessie_gc_core.model.locations import LocationRules, store_of, with_slash
from nessie_gc_core.model.quarantine import HeldFile, bucket_of, bucket_of_tags, bucket_of_versions
from nessie_gc_core.model.text import one_line, plural
from nessie_gc_core.services.run import SweepRun


def hold_places(raw: Collection[str], plan: SweepPlan, run: SweepRun) -> tuple[dict[str, str], dict[str, str]]:
    """For every store of a plan, as it is written, the raw quarantine; and units without one, with the reason."""
    rules = plan.rules
    by_store = canonical_places(raw, rules)
    places: dict[str, str] = {}
    without: dict[str, str] = {}
    refused: dict[str, str | None] = {}
    with OpenConnectors(run.choice) as connectors:
        for unit in plan.units:
            for location in unit.locations:
                store = store_of(location)
                if store not in refused:
                    place = by_store.get(store_of(rules.place_prefix(location)))
                    refused[store] = _refusal(connectors, location, place)
                    if place is not None and refused[store] is None:
                        places[store] = place
                reason = refused[store]
                if reason is not None:
                    without[unit.root] = reason
        _warn_of_rules(connectors, places, plan, run)
    for reason in set(without.values()):
        units = sum(each == reason for each in without.values())
        run.report.warn(f"nothing is moved from {plural(units, 'location')}: {reason}")
    return places, without


def _refusal(connectors: OpenConnectors, location: str, place: str | None) -> str | None:
    if place is None:
        return f"no `quarantine` is in its store; add one below {store_of(location)}"
    try:
        deleter = connectors.deleter(location)
    except ConfigurationError as error:
        return one_line(error)
    try:
        if bucket_of_tags(place) is not None:
            cannot = f"its deleter {deleter.name!r} cannot tag files"
            return deleter.tag_refusal(location) if isinstance(deleter, SupportsObjectTags) else cannot
        if bucket_of_versions(place) is None:
            cannot = f"its deleter {deleter.name!r} cannot move files"
            return deleter.move_refusal(location, place) if isinstance(deleter, SupportsMoves) else cannot
        cannot = f"its deleter {deleter.name!r} cannot hide files"
        return deleter.hide_refusal(location) if isinstance(deleter, SupportsHiding) else cannot
    except NessieGcError as error:
        return one_line(error)


def _warn_of_rules(connectors: OpenConnectors, places: dict[str, str], plan: SweepPlan, run: SweepRun) -> None:
    """Warns of what stores themselves will do to hidden files."""
    for store, place in places.items():
        locations = [each for unit in plan.units for each in unit.locations if store_of(each) == store]
        deleter = connectors.deleter(locations[0])
        if bucket_of_versions(place) is not None and isinstance(deleter, SupportsHiding):
            for said in deleter.hide_warnings(locations, run.parameters.quarantine_for):
                run.report.warn(said)


def check_release(connectors: OpenConnectors, places: Iterable[str]) -> None:
    """Refuses to begin where nothing could be restored or purged.

    Raises:
        ConfigurationError: a store does not let versions go, or its deleter cannot release files.
    """
    for bucket in filter(None, map(bucket_of_tags, sorted(places))):
        deleter = connectors.deleter(bucket)
        if not isinstance(deleter, SupportsObjectTags):
            raise ConfigurationError(f"the deleter {deleter.name!r} cannot untag or purge tagged files of {bucket}")
    for bucket in filter(None, map(bucket_of_versions, sorted(places))):
        deleter = connectors.deleter(bucket)
        if not isinstance(deleter, SupportsHiding):
            raise ConfigurationError(f"the deleter {deleter.name!r} cannot show or purge hidden files of {bucket}")
        refusal = deleter.release_refusal(bucket)
        if refusal is not None:
            raise ConfigurationError(refusal)


def leave_quarantines_alone(plan: SweepPlan, run: SweepRun) -> None:
    """Takes every unit out of a plan that is in a quarantine, or has one in it: what is there is not garbage.

    Whoever can create a table can choose its location, so it stops nothing else. No listing shows hidden files, and of
    tagged ones there are records, so their buckets are swept as before.
    """
    places = set(run.parameters.quarantine)
    if isinstance(run.store, SupportsQuarantine):
        places.update(each.place for each in run.store.quarantines())  # whoever moved files there
    for raw in sorted(each for each in places if bucket_of(each) is None):
        place = plan.rules.place_prefix_or_none(raw) or with_slash(raw)
        plan.leave_alone([place], f"the quarantine {raw} overlaps with it; use a folder outside all table locations")


def held_in(store: LiveSetStore) -> SupportsQuarantine:
    """The store as one that remembers what is in quarantine.

    Raises:
        ConfigurationError: it cannot.
    """
    if not isinstance(store, SupportsQuarantine):
        raise ConfigurationError(
            f"the live-set store {store.name!r} cannot remember files in quarantine; use another `store`"
        )
    return store


def with_places(store: SupportsQuarantine, rules: LocationRules) -> Iterator[tuple[str, HeldFile]]:
    """The files in quarantine, each with the canonical path at which it was, if that can still be told."""
    for file in store.held_files():
        try:
            place = rules.place(file.location + file.path)
        except UnknownLocationError:
            continue
        yield place, file
