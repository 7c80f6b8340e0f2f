from pathlib import Path

import pytest
from benchmarks.sessions.appends import STORES, WAYS, Way, measure_appends


@pytest.mark.parametrize("subject", STORES)
@pytest.mark.parametrize("way", WAYS)
def test_every_way_writes_into_every_store(tmp_path: Path, subject: str, way: Way) -> None:
    store = STORES[subject](tmp_path)
    try:
        assert measure_appends(store, way, 0.02) > 0
    finally:
        store.close()
    assert any(file.stat().st_size > 100 for file in tmp_path.iterdir())
