"""How long it takes to find something in all sessions."""

from pathlib import Path
from time import perf_counter

from benchmarks.engine.figures import percentile
from benchmarks.sessions.lore import words
from genie_core.sessions.catalog import Catalog
from genie_core.sessions.search.index import SearchIndex, searched

QUERIES = 200


def measure_search(base: Path, index: Path) -> dict[str, float]:
    """Index all sessions, look whether they have changed, and look for this and that."""
    sessions = searched(base, Catalog(base).all())
    store = SearchIndex(index)
    began = perf_counter()
    store.refresh(sessions)
    built = perf_counter()
    store.refresh(sessions)
    refreshed = perf_counter()
    times: list[float] = []
    hits = 0
    for number in range(QUERIES):
        text = words(number * 37, 1 + number % 3)[: 3 + number % 20]
        asked = perf_counter()
        hits += len(store.search(text))
        times.append(perf_counter() - asked)
    return {
        "build": built - began,
        "refresh": refreshed - built,
        "p50": percentile(times, 50),
        "p99": percentile(times, 99),
        "bytes": float(index.stat().st_size),
        "hits": hits / QUERIES,
    }
