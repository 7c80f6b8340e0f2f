"""The metrics of a service, in the format of Prometheus.

Rooms and people are counted and never named: a label with the id of a room would cost a time series
for each, and tell who meets where.
"""

import shutil
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, get_args

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from genie_core import __version__
from genie_core.room.protocol.frames import Refusal
from genie_core.room.server.counters import APPEND_SECONDS, Counters
from genie_core.room.server.room import Room
from genie_serve.service import Service

REASONS: Final[tuple[str, ...]] = get_args(Refusal)
"""Each has a series from the beginning on, or a rate would miss the first time."""


def make_registry(service: Service) -> CollectorRegistry:
    """Return the metrics of a service and of its process.

    Collect them on the service's event loop: they are read from the state of its rooms.
    """
    registry = CollectorRegistry()
    registry.register(ServiceCollector(service))
    ProcessCollector(registry=registry)
    return registry


class ServiceCollector(Collector):
    """Reads the counters of a service when metrics are asked for, and costs nothing else."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def collect(self) -> Iterator[Metric]:
        service = self._service
        rooms = [served.server.room for served in service.rooms.values()]
        yield from _of_rooms(rooms, service)
        yield from _of_connections(rooms, service)
        yield from _of_logs(rooms, service.counters)
        yield from _of_disk(service)
        if service.store is not None:
            held, text = len(service.shards_held), "Shards whose rooms this process hosts"
            yield GaugeMetricFamily("genie_shards_held", text, held)
        version = {__version__: 1}
        yield _labelled(
            GaugeMetricFamily, "genie_build_info", "Which version runs", version, "version"
        )


def _of_rooms(rooms: list[Room], service: Service) -> Iterator[Metric]:
    failing = sum(bool(room.failure) for room in rooms)
    full = sum(bool(room.log.full and not room.failure) for room in rooms)
    states = {
        "open": len(rooms) - failing - full,
        "full": full,
        "failing": failing,
        "idle": service.idle,
        "unopened": service.unopened,
        "archived": len(service.archived),
    }
    text = "Rooms by state: a full one is at its limit, a failing one can't write its log"
    yield _labelled(GaugeMetricFamily, "genie_rooms", text, states, "state")
    people = sum(room.peers.people for room in rooms)
    yield GaugeMetricFamily("genie_members", "People and agents that are in a room now", people)


def _of_connections(rooms: list[Room], service: Service) -> Iterator[Metric]:
    counters, listener = service.counters, service.listener if service.is_serving else None
    authenticated, others = (listener.members, listener.unauthenticated) if listener else (0, 0)
    text = "Open connections: members' and administrators', and others that may become that"
    states = {"authenticated": authenticated, "unauthenticated": others}
    yield _labelled(GaugeMetricFamily, "genie_connections", text, states, "state")
    behind = sum(peer.position < room.log.durable for room in rooms for peer in room.peers.members)
    text = "Members' connections that have not been sent all durable events"
    yield GaugeMetricFamily("genie_connections_behind", text, behind)
    yield CounterMetricFamily("genie_joins", "Connections that became a member's", counters.joins)
    text = "Members' connections that the service ended"
    yield _labelled(CounterMetricFamily, "genie_evictions", text, _all(counters.evicted), "reason")
    refused = _all(counters.refused)
    refused["crowded_out"] = listener.crowded_out if listener else 0
    text = "Connections that were refused before they were a member's"
    yield _labelled(CounterMetricFamily, "genie_refusals", text, refused, "reason")


def _of_logs(rooms: list[Room], counters: Counters) -> Iterator[Metric]:
    yield CounterMetricFamily("genie_events", "Events that became durable", counters.events)
    pending = sum(room.log.head - room.log.durable for room in rooms)
    text = "Recorded events that are not durable yet"
    yield GaugeMetricFamily("genie_events_pending", text, pending)
    text = "Seconds from recording an event until it was durable, the oldest of each write"
    yield HistogramMetricFamily(
        "genie_append_seconds",
        text,
        buckets=list(_cumulative(counters.appends)),
        sum_value=counters.append_seconds,
    )
    text = "Writes of logs that failed; those that are tried again count each time"
    yield CounterMetricFamily("genie_append_failures", text, counters.failures)


def _of_disk(service: Service) -> Iterator[Metric]:
    text = "Bytes of all rooms, logs and files"
    yield GaugeMetricFamily("genie_disk_bytes", text, service.quota.used)
    text = "The most that they may be"
    yield GaugeMetricFamily("genie_disk_limit_bytes", text, service.config.limits.disk)
    try:
        free = shutil.disk_usage(service.locations.sessions).free
    except OSError:
        return
    yield GaugeMetricFamily("genie_disk_free_bytes", "Free space where the rooms are", free)


def _cumulative(counts: Iterable[int]) -> Iterator[tuple[str, float]]:
    total = 0
    for bound, count in zip((*map(str, APPEND_SECONDS), "+Inf"), counts, strict=True):
        total += count
        yield bound, total


def _all(counts: Mapping[str, int]) -> dict[str, int]:
    return {reason: counts.get(reason, 0) for reason in REASONS}


def _labelled(
    kind: type[CounterMetricFamily] | type[GaugeMetricFamily],
    name: str,
    text: str,
    values: Mapping[str, float],
    label: str,
) -> Metric:
    family = kind(name, text, labels=[label])
    for each, value in values.items():
        family.add_metric([each], value)
    return family
