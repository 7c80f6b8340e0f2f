"""The stores, each held to the same contract."""

import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.genie_core.faulty_files import FaultyFiles

from genie_core.datastore import DataStore
from genie_core.errors import InvalidSetting, SessionLocked, StateError
from genie_core.session import GroupSession
from genie_core.storage.memory import MemoryStore
from genie_core.storage.sqlite_store import SQLiteStore
from genie_core.storage.store import Store, Sync
from genie_testing import agent_factory, reasoner_factory
from genie_testing.stores import StoreContract

pytestmark = pytest.mark.timeout(100)

MODES: list[Sync] = ["each", "group", "os"]


class TestDataStore(StoreContract):
    def opened(self, folder: Path) -> Store:
        return DataStore(folder / "store")


class TestDataStoreThatSyncsEach(StoreContract):
    def opened(self, folder: Path) -> Store:
        return DataStore(folder / "store", sync="each")


class TestDataStoreThatNeverSyncs(StoreContract):
    def opened(self, folder: Path) -> Store:
        return DataStore(folder / "store", sync="os")


class TestSQLiteStore(StoreContract):
    def opened(self, folder: Path) -> Store:
        return SQLiteStore(folder / "below" / "store.db")


class TestSQLiteStoreThatSyncsEach(StoreContract):
    def opened(self, folder: Path) -> Store:
        return SQLiteStore(folder / "store.db", sync="each")


class TestSQLiteStoreThatNeverSyncs(StoreContract):
    def opened(self, folder: Path) -> Store:
        return SQLiteStore(folder / "store.db", sync="os")


class TestMemoryStore(StoreContract):
    lasts = False

    def opened(self, folder: Path) -> Store:
        return MemoryStore()


def _open(kind: Any, mode: Sync, folder: Path) -> Any:
    return kind(folder / "it", sync=mode)


LASTING: dict[str, Callable[[Path], Any]] = {
    f"{kind.__name__}(folder / 'it', sync={mode!r})": partial(_open, kind, mode)
    for kind in (DataStore, SQLiteStore)
    for mode in MODES
}

CHILD = """
import asyncio, sys
from pathlib import Path
from genie_core.datastore import DataStore
from genie_core.storage.sqlite_store import SQLiteStore

folder = Path(sys.argv[1])

async def main(store):
    store.lock("s")
    async def write(writer):
        number = 0
        while True:
            await store.append(f"log{writer}", [number], sync=number % 2 == 0)
            await store.save(f"value{writer}", number)
            print(writer, number, flush=True)
            number += 1
    await asyncio.gather(*map(write, range(3)))

asyncio.run(main(STORE))
"""


@pytest.mark.parametrize("acknowledged", [1, 100])
@pytest.mark.parametrize("kind", LASTING)
async def test_kill_loses_nothing_acknowledged(
    tmp_path: Path, kind: str, acknowledged: int
) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3] / "src")}
    command = [sys.executable, "-c", CHILD.replace("STORE", kind), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        told = [process.stdout.readline() for _ in range(acknowledged)]
        with pytest.raises(SessionLocked, match=f"process {process.pid}"):
            LASTING[kind](tmp_path).lock("s")
        process.kill()
        told += process.stdout.readlines()
    last = {}
    for line in told:
        if line.endswith(b"\n"):
            writer, number = map(int, line.split())
            last[writer] = number
    store = LASTING[kind](tmp_path)
    store.lock("s")
    for writer, number in last.items():
        lines = await store.load_lines(f"log{writer}")
        assert lines == list(range(len(lines)))
        assert len(lines) > number
        assert await store.load(f"value{writer}") in {number, number + 1}
        await store.append(f"log{writer}", ["next"])
        assert await store.load_lines(f"log{writer}") == [*lines, "next"]
    assert store.problems == []
    await store.aclose()


@pytest.mark.parametrize("kind", [DataStore, SQLiteStore])
def test_an_unknown_durability_is_refused(tmp_path: Path, kind: Any) -> None:
    with pytest.raises(InvalidSetting, match="'each' or 'group' or 'os', not 'always'"):
        kind(tmp_path, sync="always")


@pytest.mark.parametrize(("mode", "synced"), [("each", 4), ("group", 1), ("os", 0)])
async def test_durability_sets_sync_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: Sync, synced: int
) -> None:
    files = FaultyFiles(monkeypatch, tmp_path)
    store = DataStore(tmp_path, sync=mode)
    await store.append("log", [0])
    files.calls.clear()
    promises = [store.append("log", [number], sync=number > 1) for number in range(4)]
    for promise in promises:
        await promise
    await store.aclose()
    assert [name for name, _ in files.calls].count("fdatasync") == synced


async def test_a_database_is_private(tmp_path: Path) -> None:
    async with SQLiteStore(tmp_path / "new" / "chat.db") as store:
        await store.save("key", 1)
        assert {stat.S_IMODE(each.stat().st_mode) for each in (tmp_path / "new").iterdir()} == {
            0o600
        }


async def test_foreign_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "chat.db"
    path.write_text("my diary " * 100)
    async with SQLiteStore(path) as store:
        with pytest.raises(StateError, match="not a database"):
            await store.load_lines("key")
        with pytest.raises(StateError, match="not a database"):
            await store.save("key", 1)
        assert len(store.problems) == 2
    assert path.read_text() == "my diary " * 100


async def test_refused_lines_precede_next_ones(tmp_path: Path) -> None:
    path = tmp_path / "chat.db"
    path.mkdir()
    async with SQLiteStore(path) as store:
        with pytest.raises(StateError):
            await store.append("log", [1])
        path.rmdir()
        await store.append("log", [2])
        assert await store.load_lines("log") == [1, 2]


async def test_usual_tools_read_database(tmp_path: Path) -> None:
    async with SQLiteStore(tmp_path / "chat.db") as store:
        await store.narrowed("s").append("log", [{"a": "é"}, 2])
    connection = sqlite3.connect(tmp_path / "chat.db")
    rows = connection.execute("SELECT part, key, data FROM journals, lines WHERE journal = id")
    assert rows.fetchall() == [('["s"]', '"log"', '{"a":"é"}'), ('["s"]', '"log"', "2")]
    connection.close()


async def test_what_else_is_given_as_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match="data_store must be a Store"):
        GroupSession("s", reasoner_factory(), agent_factory(), tmp_path)  # type: ignore[arg-type]
