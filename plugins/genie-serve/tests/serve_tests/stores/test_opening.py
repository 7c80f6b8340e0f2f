"""Stores of a service are found by their kind."""

from collections.abc import Callable
from pathlib import Path

import pytest

from genie_serve.config import read_config
from genie_serve.errors import CannotServe
from genie_serve.stores.opening import open_store


async def test_store_of_third_party(
    third_party: Callable[[str, str], None], tmp_path: Path
) -> None:
    path = tmp_path / "serve.toml"
    path.write_text('[store]\nkind = "etcd"\nurls = ["http://127.0.0.1:2379"]\n')
    with pytest.raises(
        CannotServe, match=r"store\.kind can't be 'etcd': installed are .* nats, pos"
    ):
        read_config(path)
    third_party(
        "[genie.stores]\netcd = thirdparty:connect\n",
        "async def connect(table): return ('store at', *table.urls)\n",
    )
    table = read_config(path).store
    assert table is not None
    assert await open_store(table) == ("store at", "http://127.0.0.1:2379")  # type: ignore[comparison-overlap]  # no whole store
