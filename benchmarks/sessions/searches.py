"""How long it takes to find something in all sessions."""

from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import TypeVar

from benchmarks.engine.figures import percentile
from benchmarks.sessions.lore import words
from genie_core.sessions.catalog import Catalog
from genie_core.sessions.search.index import SearchIndex

QUERIES = 100

T = TypeVar("T")


def measure_search(base: Path, index: Path) -> dict[str, float]:
    """Search all sessions for the first time, and then for this and that.

    Every search looks whether the sessions have changed. All times are of the processor.
    """
    sessions = Catalog(base).all()
    store = SearchIndex(index)
    _, build = _timed(lambda: store.look_up(sessions, "no such words"))
    _, refresh = _timed(lambda: store.refresh(sessions))
    times: list[float] = []
    hits = 0
    for number in range(QUERIES):
        text = words(number * 37, 1 + number % 3)[: 3 + number % 20]
        found, seconds = _timed(lambda text=text: store.look_up(sessions, text))  # type: ignore[misc]
        hits += len(found.hits)
        times.append(seconds)
    _, by_kind = _timed(lambda: store.look_up(sessions, "kind:approved from:ann"))
    _, pattern = _timed(lambda: store.look_up(sessions, r"/gran\w+ jun/"))
    return {
        "build": build,
        "refresh": refresh,
        "p50": percentile(times, 50),
        "p99": percentile(times, 99),
        "kind": by_kind,
        "pattern": pattern,
        "bytes": float(index.stat().st_size),
        "share": index.stat().st_size / sum(each.log.stat().st_size for each in sessions),
        "hits": hits / QUERIES,
    }


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    began = process_time()
    return work(), process_time() - began
