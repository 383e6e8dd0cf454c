"""The live-set store, for commands that need nothing else."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager

import click

from nessie_gc_core.cli.command import Call
from nessie_gc_core.config.given import Given
from nessie_gc_core.config.lasting import why_store_is_lost
from nessie_gc_core.config.settings import PluginSettings
from nessie_gc_core.config.specs import MEMORY, store_spec
from nessie_gc_core.connectors import LiveSetStore, SupportsSqlSchema
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.plugins import PluginRegistry, installed
from nessie_gc_core.services.live_set_ids import chosen_live_set
from nessie_gc_core.services.parameters import DeferredDeletionParameters


def open_store(call: Call) -> LiveSetStore:
    """The live-set store.

    Raises:
        click.UsageError: the store would be lost with this process.
    """
    check_store_lasts(call, needed=True)
    given = call.given()
    registry = _registry(given)
    return registry.open(LiveSetStore, store_spec(given, registry))


def is_in_memory(call: Call) -> bool:
    """Whether the store is lost when this process ends, whichever setting chose it."""
    given = call.given()
    return store_spec(given, _registry(given)).name == MEMORY


def check_store_lasts(call: Call, *, needed: bool) -> None:
    """Refuses a store that is lost with this process if another process has to read it.

    Raises:
        click.UsageError: the message names the options that cannot be combined.
    """
    why = why_store_is_lost(call.given(), needed=needed)
    if why is not None:
        raise click.UsageError(why)


@contextmanager
def open_schema_store(call: Call) -> Iterator[tuple[LiveSetStore, SupportsSqlSchema]]:
    """Opens the live-set store to create its tables; opening it creates none.

    Raises:
        ConfigurationError: it has no tables.
    """
    given = call.given()
    registry = _registry(given)
    spec = store_spec(given, registry)
    options = {key: value for key, value in spec.options.items() if key != "schema"}
    with registry.open(LiveSetStore, dataclasses.replace(spec, options=options)) as store:
        if not isinstance(store, SupportsSqlSchema):
            raise ConfigurationError(f"the live-set store {spec.name!r} has no tables to create")
        yield store, store


def chosen_id(call: Call) -> str:
    """The live set that ``-l`` or ``-L`` names: its id, or the beginning of it."""
    return chosen_live_set(call.given().settings(DeferredDeletionParameters))


def _registry(given: Given) -> PluginRegistry:
    return installed().without(given.settings(PluginSettings).disable_plugin)
