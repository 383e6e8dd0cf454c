"""From the settings of a schedule to those who are told of its runs."""

from __future__ import annotations

import logging

from nessie_gc_core.connectors import ScheduleStore
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.times import Clock, utc_now
from nessie_gc_core.services.schedule.definition import ScheduleDefinition, statuses_of
from nessie_gc_core.services.schedule.telling.listeners import Listener, Listeners
from nessie_gc_core.services.schedule.telling.metrics import Metrics
from nessie_gc_core.services.schedule.telling.webhook import Webhook

log = logging.getLogger(__name__)


def listeners_of(
    definition: ScheduleDefinition, store: ScheduleStore, *, once: bool, clock: Clock = utc_now
) -> Listeners:
    """Those that the settings name.

    Args:
        definition: the schedule.
        store: its store.
        once: whether the scheduler ends when it has run what is due; then it serves no metrics, and pushes them.
        clock: gives the current time.

    Raises:
        ConfigurationError: one of them is wrong, or its library is missing.
    """
    settings, found = definition.settings, list[Listener]()
    if settings.webhook is not None:
        found.append(Webhook(settings.webhook, schedule=definition.name, statuses=statuses_of(settings)))
    if settings.lineage:
        found.append(_lineage(definition))
    serves = settings.metrics_port is not None and not once
    if serves or settings.metrics_push is not None:
        metrics = Metrics(definition.name, store, clock=clock)
        if settings.metrics_push is not None:
            metrics.push_at_the_end(settings.metrics_push)
        if serves and settings.metrics_port is not None:
            log.info("metrics are served at %s", metrics.serve(settings.metrics_host, settings.metrics_port).address)
        found.append(metrics)
    return Listeners(found)


def _lineage(definition: ScheduleDefinition) -> Listener:
    try:
        from nessie_gc_core.services.schedule.telling.lineage import Lineage
    except ImportError as error:
        raise ConfigurationError(
            "`lineage` needs the extra `lineage`: pip install 'nessie-gc-core[lineage]'"
        ) from error
    settings = definition.settings
    return Lineage(definition.name, namespace=settings.lineage_namespace, catalog=settings.lineage_catalog)
