import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_core.datastore import DataStore, path_name
from genie_core.errors import MissingKey, StateError


@pytest.fixture
def store(tmp_path: Path) -> DataStore:
    return DataStore(tmp_path / "store")


async def test_a_value_can_be_loaded_without_waiting_for_its_save(store: DataStore) -> None:
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
async def test_a_value_that_is_no_json_is_refused_at_once(store: DataStore, value: Any) -> None:
    with pytest.raises(StateError, match=r"key\.json"):
        _ = store.save("key", value)
    with pytest.raises(StateError, match=r"key\.jsonl"):
        _ = store.append("key", [value])


async def test_narrowed_stores_keep_apart_and_share_their_problems(store: DataStore) -> None:
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


async def test_a_damaged_value_is_put_aside_and_reported(store: DataStore) -> None:
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


async def test_a_store_can_be_used_from_one_event_loop_after_another(tmp_path: Path) -> None:
    store = DataStore(tmp_path)
    await store.save("key", 1)
    assert await asyncio.to_thread(lambda: asyncio.run(store.load("key"))) == 1


AWKWARD = [
    "a/b", "a_b", "a:b", "a%b", "a.b", "..", ".", "", "%", " ", "A", "a", "é", "e\u0301", "名前",
    "\0", "\ud800", "x" * 300, "x" * 301, "con", "a\n", "%2e", "session", "session.jsonl",
]  # fmt: skip


def test_awkward_keys_have_distinct_harmless_names() -> None:
    names = [path_name(key) for key in AWKWARD]
    assert len({name.casefold() for name in names}) == len(AWKWARD)
    for name in names:
        assert name.isascii()
        assert len(name) <= 150
        assert not set(name) & set("/\\:. \0\n")


@given(st.text(), st.text())
def test_distinct_keys_have_distinct_names(one: str, other: str) -> None:
    assert (path_name(one).casefold() == path_name(other).casefold()) == (one == other)
