"""Tests of all that a store must do, to run your own `Store` through.

    class TestMyStore(StoreContract):
        def opened(self, folder):
            return MyStore(folder / "chat")

The tests are coroutines and carry the mark of pytest-asyncio.
"""
# ruff: noqa: S101 - these are tests

import asyncio
from abc import abstractmethod
from pathlib import Path
from typing import Any, Final

import pytest

from genie_core.errors import MissingKey, SessionLocked, StateError
from genie_core.message import Message
from genie_core.session import GroupSession
from genie_core.storage.store import Store
from genie_testing.scripted import agent_factory, reasoner_factory

VALUES: Final[list[Any]] = [
    *(None, True, 0, -1.5, "", "é\n\0\u2028", "\ud800", [], {}, [1, [2, {"a": None}]]),
    *({"content": "x" * 300_000}, {"": {"\0": "\\"}}),
]
KEYS: Final = [
    *("a/b", "a_b", "a:b", "a%b", "a.b", "..", ".", "", "%", " ", "A", "a", "é", "e\u0301", "名前"),
    *("\0", "\ud800", "x" * 300, "x" * 301, "con", "a\n", "%2e", "session", "session.jsonl", "'"),
    *('"', "a.lock"),
]


@pytest.mark.asyncio
class StoreContract:
    """Subclass it, and implement `opened`; set `lasts` to False if closing forgets everything."""

    lasts = True

    @abstractmethod
    def opened(self, folder: Path) -> Store:
        """Open a store in a folder: the same one as before, after that was closed."""

    async def test_values_and_lines_come_back(self, tmp_path: Path) -> None:
        """Every JSON value is given back, and a key's value is not its journal."""
        store = self.opened(tmp_path)
        for number, value in enumerate(VALUES):
            await store.save(f"value {number}", value)
        await store.append("value 0", VALUES)
        assert [await store.load(f"value {n}") for n in range(len(VALUES))] == VALUES
        assert await store.load_lines("value 0") == VALUES
        await store.aclose()

    async def test_a_missing_key_is_told(self, tmp_path: Path) -> None:
        """A value that is not there raises; a journal that is not there is empty."""
        store = self.opened(tmp_path)
        with pytest.raises(MissingKey):
            await store.load("nothing")
        assert await store.load_lines("nothing") == []
        await store.append("journal", [1])
        with pytest.raises(KeyError):
            await store.load("journal")
        await store.aclose()

    async def test_a_read_sees_earlier_writes_as_they_were(self, tmp_path: Path) -> None:
        """Nothing has to be awaited, and values may be changed afterwards."""
        store = self.opened(tmp_path)
        value = {"n": 1}
        _ = store.save("key", {"n": 0})
        _ = store.save("key", value)
        _ = store.append("key", [value])
        value["n"] = 2
        assert await store.load("key") == {"n": 1}
        assert await store.load_lines("key") == [{"n": 1}]
        await store.aclose()

    @pytest.mark.parametrize("value", [object(), {1}, float("inf"), {"deep": [b"x"]}])
    async def test_anything_but_json_is_refused(self, tmp_path: Path, value: Any) -> None:
        """Nothing is written, and other lines of the same call are not either."""
        store = self.opened(tmp_path)
        writes = store.save("key", value), store.save_instead("key", value)
        for write in (*writes, store.append("key", [1, value])):
            with pytest.raises(StateError):
                await write
        assert store.problems
        assert await store.load_lines("key") == []
        await store.aclose()

    async def test_a_value_can_take_the_place_of_a_journal(self, tmp_path: Path) -> None:
        """The journal is gone, and can begin again."""
        store = self.opened(tmp_path)
        _ = store.append("key", [1, 2])
        await store.save_instead("key", 3)
        assert (await store.load("key"), await store.load_lines("key")) == (3, [])
        await store.append("key", [4])
        assert await store.load_lines("key") == [4]
        await store.aclose()

    async def test_parts_keep_apart_and_share_their_problems(self, tmp_path: Path) -> None:
        """A part sees its own keys only, and is the same however it is reached."""
        store = self.opened(tmp_path)
        agent = store.narrowed("alice", "agent")
        await agent.save("state", 1)
        await store.narrowed("alice").append("log", [2])
        assert await store.narrowed("alice").narrowed("agent").load("state") == 1
        for other in (store, store.narrowed("alice"), store.narrowed("agent")):
            with pytest.raises(MissingKey):
                await other.load("state")
        agent.report("something", "a subject")
        assert len(store.problems) == 1
        await store.aclose()

    async def test_the_parts_with_a_key_are_found(self, tmp_path: Path) -> None:
        """Only those directly below count, with a value or a journal."""
        store = self.opened(tmp_path)
        await store.save("it", 0)
        await store.narrowed("a").append("it", [1])
        await store.narrowed("b").save("it", 2)
        await store.narrowed("c").save("other", 3)
        await store.narrowed("d", "e").save("it", 4)
        parts = await store.parts_with("it")
        assert sorted([await each.load_lines("it") for each in parts]) == [[], [1]]
        assert [await each.load_lines("it") for each in await parts[0].parts_with("it")] == []
        await store.aclose()

    async def test_awkward_keys_never_share_anything(self, tmp_path: Path) -> None:
        """Any text is a key, and different keys are different places."""
        store = self.opened(tmp_path)
        for number, key in enumerate(KEYS):
            _ = store.save(key, number)
            _ = store.append(key, [number])
            _ = store.narrowed(key).save("inner", number)
            store.lock(key).release()
        await store.flush()
        for number, key in enumerate(KEYS):
            assert await store.load(key) == number
            assert await store.load_lines(key) == [number]
            assert await store.narrowed(key).load("inner") == number
        await store.aclose()

    async def test_concurrent_writes_keep_the_order_of_the_calls(self, tmp_path: Path) -> None:
        """The last value wins, and no line is lost, doubled or before an earlier one."""
        store = self.opened(tmp_path)

        async def write(writer: int) -> None:
            for number in range(50):
                await store.append("log", [[writer, number]], sync=number % 3 == 0)
                _ = store.save("last", [writer, number])

        await asyncio.gather(*map(write, range(8)))
        promises = [store.save("value", number) for number in range(100)]
        await asyncio.gather(*promises)
        assert await store.load("value") == 99
        lines = await store.load_lines("log")
        for writer in range(8):
            assert [n for who, n in lines if who == writer] == list(range(50))
        assert (await store.load("last"))[1] == 49
        await store.aclose()

    async def test_closing_writes_everything_and_refuses_more(self, tmp_path: Path) -> None:
        """Pending futures complete; a lasting store has it all when it is opened again."""
        store = self.opened(tmp_path)
        part = store.narrowed("part")
        promises = [store.append("log", [n], sync=n % 2 == 0) for n in range(20)]
        promises.append(part.save("key", 1))
        await store.aclose()
        await asyncio.gather(*promises)
        for each in (store, part):
            with pytest.raises(StateError, match="closed"):
                await each.save("key", 2)
            with pytest.raises(StateError, match="closed"):
                await each.load_lines("log")
        if self.lasts:
            again = self.opened(tmp_path)
            assert await again.load_lines("log") == list(range(20))
            assert await again.narrowed("part").load("key") == 1
            await again.aclose()

    async def test_a_part_is_locked_once(self, tmp_path: Path) -> None:
        """Other parts can be locked meanwhile; releasing and closing let others in."""
        store = self.opened(tmp_path)
        lock = store.lock("a")
        with pytest.raises(SessionLocked):
            store.lock("a")
        store.lock("b").release()
        store.narrowed("a").lock("a").release()
        lock.release()
        lock.release()
        store.lock("a")
        await store.aclose()
        if self.lasts:
            again = self.opened(tmp_path)
            again.lock("a").release()
            await again.aclose()

    async def test_a_session_goes_on_where_the_last_one_ended(self, tmp_path: Path) -> None:
        """Messages and memories are there, and the answered ones are not unfinished."""
        store = self.opened(tmp_path)
        for number in range(3):
            chat = GroupSession("s", reasoner_factory(), agent_factory(), store)
            assert len(await chat.remembered()) == 2 * number
            assert await chat.unfinished() == []
            await chat.handle(Message(str(number), "alice")).result()
            await chat.join()
            if self.lasts:
                await store.aclose()
                store = self.opened(tmp_path)
        saved = await GroupSession.load_messages(store)
        assert saved is not None
        assert [each.content for each in saved[::2]] == ["0", "1", "2"]
        assert (await store.narrowed("s", "alice").load("system"))["queries"] == ["0", "1", "2"]
        await store.aclose()
