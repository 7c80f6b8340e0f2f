import asyncio
import errno
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.genie_core.faulty_files import FaultyFiles, failing, failing_from
from tests.limits import scaled

from genie_core.datastore import DataStore, path_name
from genie_core.errors import MissingKey, StateError


@pytest.fixture
def store(tmp_path: Path) -> DataStore:
    return DataStore(tmp_path / "store")


async def test_load_sees_unfinished_save(store: DataStore) -> None:
    _ = store.save("key", {"n": [1, None, "é"]})
    assert await store.load("key") == {"n": [1, None, "é"]}


async def test_a_missing_key_is_a_key_error(store: DataStore) -> None:
    with pytest.raises(KeyError) as caught:
        await store.load("nothing")
    assert isinstance(caught.value, MissingKey)


async def test_the_value_is_taken_when_save_is_called(store: DataStore) -> None:
    value = {"n": 1}
    _ = store.save("key", value)
    value["n"] = 2
    assert await store.load("key") == {"n": 1}


@pytest.mark.parametrize("value", [object(), {1}, float("inf"), {"deep": [b"x"]}])
async def test_non_json_value_fails_only_future(store: DataStore, value: Any) -> None:
    saves = (
        store.save("key", value),
        store.append("key", [value]),
        store.save_instead("key", value),
    )
    for saved, name in zip(saves, (r"key\.json", r"key\.jsonl", r"key\.json"), strict=True):
        with pytest.raises(StateError, match=name):
            await saved
    assert len(store.problems) == 2
    assert all("key.json" in problem for problem in store.problems)
    with pytest.raises(KeyError):
        await store.load("key")


def test_unawaited_failed_save_stays_quiet(tmp_path: Path) -> None:
    code = (
        "import asyncio, gc, sys; from pathlib import Path; from genie_core.datastore import DataStore\n"
        "async def main():\n"
        "    store = DataStore(Path(sys.argv[1]))\n"
        "    store.save('key', object())\n"
        "    await store.aclose()\n"
        "    store.save('key', 1)\n"
        "    print(*store.problems, sep='\\n')\n"
        "asyncio.run(main()); gc.collect()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=scaled(60),
    )
    assert done.returncode == 0
    assert "never retrieved" not in done.stderr
    assert "not JSON serializable" in done.stdout or "closed" in done.stdout


async def test_narrowed_stores_share_problems(store: DataStore) -> None:
    async with store.narrow("alice") as alice, alice.narrow("agent") as agent:
        await agent.save("state", 1)
        assert store.narrow_path("alice", "agent") == agent.root_path
        agent.report("something")
    assert (store.narrow_path("alice", "agent") / "state.json").exists()
    assert store.problems == ["something"]
    with pytest.raises(KeyError):
        await store.load("state")


async def test_a_journal_grows_over_several_lives(tmp_path: Path) -> None:
    for life in range(3):
        store = DataStore(tmp_path)
        assert await store.load_lines("log") == list(range(life))
        await store.append("log", [life])
        await store.aclose()


async def test_context_exit_flushes_and_closes(tmp_path: Path) -> None:
    with suppress(LookupError):
        async with DataStore(tmp_path) as store:
            promise = store.append("key", [1])
            raise LookupError
    assert promise.done()
    assert await DataStore(tmp_path).load_lines("key") == [1]
    with pytest.raises(StateError, match="closed"):
        await store.save("key", 2)


async def test_damaged_value_is_set_aside(store: DataStore) -> None:
    await store.save("key", 1)
    path = store.root_path / "key.json"
    path.write_text('{"half')
    with pytest.raises(MissingKey):
        await store.load("key")
    assert (store.root_path / "key.json.damaged").read_text() == '{"half'
    assert len(store.problems) == 1
    await store.save("key", 2)
    assert await store.load("key") == 2


async def test_an_unreadable_journal_is_a_state_error(store: DataStore) -> None:
    (store.root_path / "log.jsonl").mkdir(parents=True)
    with pytest.raises(StateError, match=r"log\.jsonl"):
        await store.load_lines("log")


async def test_store_serves_successive_loops(tmp_path: Path) -> None:
    store = DataStore(tmp_path)
    await store.save("key", 1)
    assert await asyncio.to_thread(lambda: asyncio.run(store.load("key"))) == 1


AWKWARD = [
    "a/b", "a_b", "a:b", "a%b", "a.b", "..", ".", "", "%", " ", "A", "a", "é", "e\u0301", "名前",
    "\0", "\ud800", "x" * 300, "x" * 301, "con", "a\n", "%2e", "session", "session.jsonl",
]  # fmt: skip


def test_awkward_keys_get_safe_file_names() -> None:
    names = [path_name(key) for key in AWKWARD]
    assert len({name.casefold() for name in names}) == len(AWKWARD)
    for name in names:
        assert name.isascii()
        assert len(name) <= 150
        assert not set(name) & set("/\\:. \0\n")


@given(st.text(), st.text())
def test_distinct_keys_have_distinct_names(one: str, other: str) -> None:
    assert (path_name(one).casefold() == path_name(other).casefold()) == (one == other)


async def test_awkward_keys_never_share_anything(tmp_path: Path) -> None:
    store = DataStore(tmp_path)
    for number, key in enumerate(AWKWARD):
        _ = store.save(key, number)
        _ = store.append(key, [number])
        _ = store.narrowed(key).save("inner", number)
    await store.flush()
    again = DataStore(tmp_path)
    for number, key in enumerate(AWKWARD):
        assert await again.load(key) == number
        assert await again.load_lines(key) == [number]
        assert await again.narrowed(key).load("inner") == number


async def write_three(store: DataStore) -> tuple[list[int], int]:
    """Write lines and values; return the acknowledged lines and the last acknowledged value."""
    lines, value = [], 0
    for number in (1, 2, 3):
        with suppress(StateError):
            await store.append("log", [number])
            lines.append(number)
        with suppress(StateError):
            await store.save("key", number)
            value = number
    return lines, value


async def value_of(store: DataStore) -> int:
    try:
        return int(await store.load("key"))
    except MissingKey:
        return 0


async def test_single_disk_failure_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = FaultyFiles(monkeypatch, tmp_path)
    failed = 0
    for number in range(100):
        files.calls, files.fails = [], failing(number, errno.EIO)
        folder = tmp_path / str(number)
        store = DataStore(folder)
        lines, value = await write_three(store)
        files.fails = failing(-1)
        await store.flush()
        assert await store.load_lines("log") == [1, 2, 3]
        await store.aclose()
        again = DataStore(folder)
        assert await again.load_lines("log") == [1, 2, 3]
        assert await value_of(again) in {value, value + 1}
        assert again.problems == []
        await again.aclose()
        if not store.problems:
            assert (lines, value) == ([1, 2, 3], 3)
            break
        failed += 1
        assert len(store.problems) == 1
        assert "Input/output error" in store.problems[0]
    assert failed > 20


async def test_dead_disk_keeps_acknowledged_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = FaultyFiles(monkeypatch, tmp_path)
    for number in range(100):
        files.calls, files.fails = [], failing_from(number)
        folder = tmp_path / str(number)
        store = DataStore(folder)
        lines, value = await write_three(store)
        await store.aclose()
        files.fails = failing(-1)
        again = DataStore(folder)
        assert await value_of(again) in {value, value + 1}
        kept = await again.load_lines("log")
        assert kept[: len(lines)] == lines
        assert kept == [1, 2, 3][: len(kept)]
        await again.aclose()
        if value == 3:
            return
    pytest.fail("it never came to its end")


async def test_full_disk_fails_saves_until_freed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = DataStore(tmp_path)
    await store.append("log", ["before"])
    await store.save("key", "before")
    files = FaultyFiles(monkeypatch, tmp_path)
    files.room = 10
    for write in (store.append("log", ["during"]), store.save("key", "during")):
        with pytest.raises(StateError, match=r"cannot save .*: No space left on device"):
            await write
    assert await store.load_lines("log") == ["before"]
    assert await store.load("key") == "before"
    files.room = None
    await store.append("log", ["after"])
    await store.save("key", "after")
    assert await store.load_lines("log") == ["before", "during", "after"]
    assert await store.load("key") == "after"


async def test_close_writes_previously_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = DataStore(tmp_path)
    files = FaultyFiles(monkeypatch, tmp_path)
    files.room = 0
    with pytest.raises(StateError):
        await store.append("log", [1])
    files.room = None
    await store.aclose()
    assert await DataStore(tmp_path).load_lines("log") == [1]


async def test_leftover_of_crash_is_overwritten(store: DataStore) -> None:
    await store.save("key", "old")
    (store.root_path / "key.json.new").write_text('"half')
    assert await store.load("key") == "old"
    await store.save("key", "new")
    assert await store.load("key") == "new"


async def test_truncated_journal_keeps_lines(tmp_path: Path) -> None:
    values = [{"text": "é\n"}, [1, 2], "three"]
    await DataStore(tmp_path / "whole").append("log", values)
    content = (tmp_path / "whole" / "log.jsonl").read_bytes()
    for cut in range(len(content) + 1):
        folder = tmp_path / str(cut)
        folder.mkdir()
        (folder / "log.jsonl").write_bytes(content[:cut])
        store = DataStore(folder)
        whole = values[: content[:cut].count(b"\n")]
        assert await store.load_lines("log") == whole
        assert len(store.problems) == (content[:cut][-1:] not in {b"", b"\n"})
        await store.append("log", ["next"])
        await store.aclose()
        assert await DataStore(folder).load_lines("log") == [*whole, "next"]


async def test_truncated_value_is_missing(tmp_path: Path) -> None:
    await DataStore(tmp_path / "whole").save("key", {"text": "é\n"})
    content = (tmp_path / "whole" / "key.json").read_bytes()
    for cut in range(len(content) - 1):
        folder = tmp_path / str(cut)
        folder.mkdir()
        (folder / "key.json").write_bytes(content[:cut])
        store = DataStore(folder)
        with pytest.raises(MissingKey):
            await store.load("key")
        assert len(store.problems) == 1
        await store.save("key", 1)
        assert await store.load("key") == 1
        await store.aclose()


async def test_damaged_read_only_value_is_missing(
    store: DataStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.save("key", 1)
    (store.root_path / "key.json").write_text('{"half')
    FaultyFiles(monkeypatch, store.root_path).fails = failing_from(0)
    with pytest.raises(MissingKey):
        await store.load("key")


async def test_values_without_checksum_are_read(store: DataStore) -> None:
    store.root_path.mkdir()
    (store.root_path / "key.json").write_text('{\n  "agent": [1]\n}')
    assert await store.load("key") == {"agent": [1]}


async def test_save_instead_sets_journal_aside(store: DataStore) -> None:
    await store.append("key", [1, 2])
    await store.save_instead("key", [3])
    assert await store.load_lines("key") == []
    assert await store.load("key") == [3]
    assert (store.root_path / "key.jsonl.replaced").exists()
    await store.append("key", [4])
    assert await store.load_lines("key") == [4]


async def test_other_work_is_done_in_its_turn(store: DataStore) -> None:
    _ = store.append("log", [1])
    assert await store.run((store.root_path / "log.jsonl").exists)


def test_where_group_genie_would_keep_it() -> None:
    store = DataStore(Path("root"))
    assert store.narrowed("a b", "Zoë").earlier_path == Path("root", "a_b", "Zoë")
    assert store.narrowed("..", "").earlier_path == Path("root", "__")


async def test_save_instead_keeps_append_order(store: DataStore) -> None:
    release = threading.Event()
    held = asyncio.ensure_future(store.run(lambda: release.wait(10)))
    await asyncio.sleep(0)  # everything below is one batch for the store's thread
    _ = store.save("key", 1)
    _ = store.append("key", ["before"])
    _ = store.save_instead("key", 2)
    _ = store.append("key", ["after"])
    release.set()
    assert await held
    assert await store.load_lines("key") == ["after"]
    assert await store.load("key") == 2
