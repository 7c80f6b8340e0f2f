from abc import ABC, abstractmethod
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from genie_core.datastore import DataStore
from genie_core.errors import StageFailed, StateError
from genie_core.storage.agent_state import JournalSuffices, StateKeeper


class Whole:
    def __init__(self, value: Any = None) -> None:
        self.value = value

    def get_serialized(self) -> Any:
        return self.value

    def set_serialized(self, state: Any, /) -> None:
        self.value = state


class Growing(Whole):
    def __init__(self) -> None:
        super().__init__([])
        self.new: list[Any] = []

    def add(self, item: Any) -> None:
        self.value.append(item)
        self.new.append(item)

    def get_new_messages(self) -> list[Any]:
        new, self.new = self.new, []
        return new


async def restored(keeper: StateKeeper, holder: Whole) -> Any:
    await keeper.restore(holder)
    return holder.value


async def test_a_whole_state_comes_back(tmp_path: Path) -> None:
    await StateKeeper("it", "key", DataStore(tmp_path)).save(Whole({"a": 1}))
    assert await restored(StateKeeper("it", "key", DataStore(tmp_path)), Whole()) == {"a": 1}


async def test_growing_state_is_journalled(tmp_path: Path) -> None:
    store = DataStore(tmp_path)
    keeper, holder = StateKeeper("it", "key", store), Growing()
    for number in range(3):
        holder.add(number)
        await keeper.save(holder)
    await keeper.save(holder)
    assert await store.load_lines("key") == [0, 1, 2]
    assert await restored(StateKeeper("it", "key", DataStore(tmp_path)), Growing()) == [0, 1, 2]


async def test_nothing_saved_restores_nothing(tmp_path: Path) -> None:
    assert await restored(StateKeeper("it", "key", DataStore(tmp_path)), Whole("fresh")) == "fresh"


async def test_without_store_state_is_in_memory() -> None:
    keeper = StateKeeper("it", "key", None)
    await keeper.save(Whole(1))
    keeper.release(Whole(2))
    assert await restored(keeper, Whole()) == 2


async def test_without_store_nothing_is_collected() -> None:
    keeper, holder = StateKeeper("it", "key", None), Growing()
    holder.add(1)
    await keeper.save(holder)
    assert holder.new == []


async def test_a_memory_is_on_disk_once_it_was_written(tmp_path: Path) -> None:
    keeper = StateKeeper("it", "key", DataStore(tmp_path))
    promise = keeper.save(Whole(1))
    before = keeper.on_disk
    await promise
    assert (before, keeper.on_disk) == (False, True)
    assert not StateKeeper("it", "key", None).on_disk


async def test_failing_disk_keeps_state_in_memory(tmp_path: Path) -> None:
    (tmp_path / "blocked").write_text("not a folder")
    keeper, holder = StateKeeper("it", "key", DataStore(tmp_path / "blocked")), Growing()
    holder.add(1)
    with pytest.raises(StateError, match="blocked"):
        await keeper.save(holder)
    assert not keeper.on_disk
    keeper.release(holder)
    assert await restored(keeper, Whole()) == [1]


async def test_failed_lines_come_with_next_ones(tmp_path: Path) -> None:
    blocker = tmp_path / "folder"
    blocker.write_text("not a folder")
    store = DataStore(blocker)
    keeper, holder = StateKeeper("it", "key", store), Growing()
    holder.add(1)
    with pytest.raises(StateError, match="folder"):
        await keeper.save(holder)
    blocker.unlink()
    holder.add(2)
    await keeper.save(holder)
    assert await store.load_lines("key") == [1, 2]


async def test_non_json_state_fails_only_future(tmp_path: Path) -> None:
    store = DataStore(tmp_path)
    with pytest.raises(StateError, match=r"key\.json: TypeError"):
        await StateKeeper("it", "key", store).save(Whole(object()))
    assert len(store.problems) == 1


async def test_failing_serializer_is_reported(
    tmp_path: Path,
) -> None:
    class Mute(Whole):
        def get_serialized(self) -> Any:
            raise LookupError("lost")

    store = DataStore(tmp_path)
    keeper, holder = StateKeeper("it", "key", store), Mute("x")
    for _ in range(2):
        with pytest.raises(StageFailed, match="state of it: LookupError: lost"):
            await keeper.save(holder)
    keeper.release(holder)
    assert store.problems == ["state of it: LookupError: lost (3 times)"]


@pytest.mark.parametrize("name", ["key.json", "key.jsonl"])
async def test_unreadable_state_is_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()  # no permissions stop a test that root runs
    store = DataStore(tmp_path)
    keeper, holder = StateKeeper("it", "key", store), Growing()
    await keeper.restore(holder)
    assert any(name in problem for problem in store.problems)
    for item in (1, 2):
        holder.add(item)
        with pytest.raises(StateError, match="can't be read and is left as it is"):
            await keeper.save(holder)
    keeper.release(holder)
    assert await restored(keeper, Growing()) == [1, 2]
    assert [each.name for each in tmp_path.iterdir()] == [name]


async def test_rejected_state_fails_state_stage(tmp_path: Path) -> None:
    class Picky(Whole):
        def set_serialized(self, state: Any, /) -> None:
            raise LookupError(state)

    await StateKeeper("it", "key", DataStore(tmp_path)).save(Whole(1))
    with pytest.raises(StageFailed) as caught:
        await StateKeeper("it", "key", DataStore(tmp_path)).restore(Picky())
    assert caught.value.stage == "state"
    assert isinstance(caught.value.cause, LookupError)


async def test_whole_list_becomes_journal(
    tmp_path: Path,
) -> None:
    await StateKeeper("it", "key", DataStore(tmp_path)).save(Whole([1, 2]))
    store = DataStore(tmp_path)
    keeper, holder = StateKeeper("it", "key", store), Growing()
    assert await restored(keeper, holder) == [1, 2]
    holder.add(3)
    await keeper.save(holder)
    assert await store.load_lines("key") == [1, 2, 3]
    assert await restored(StateKeeper("it", "key", DataStore(tmp_path)), Growing()) == [1, 2, 3]


async def test_other_whole_state_stays_whole(tmp_path: Path) -> None:
    class Counting(Growing):
        def get_serialized(self) -> Any:
            return {"sum": sum(self.value)}

        def set_serialized(self, state: Any, /) -> None:
            self.value = [state["sum"]]

    await StateKeeper("it", "key", DataStore(tmp_path)).save(Whole({"sum": 3}))
    store = DataStore(tmp_path)
    keeper, holder = StateKeeper("it", "key", store), Counting()
    await keeper.restore(holder)
    for number in (4, 5):
        holder.add(number)
        await keeper.save(holder)
    assert await store.load_lines("key") == []
    assert await restored(StateKeeper("it", "key", DataStore(tmp_path)), Counting()) == [12]


async def test_whole_state_replaces_journal(
    tmp_path: Path,
) -> None:
    store = DataStore(tmp_path)
    keeper, growing = StateKeeper("it", "key", store), Growing()
    growing.add(1)
    await keeper.save(growing)
    keeper, whole = StateKeeper("it", "key", store), Whole()
    assert await restored(keeper, whole) == [1]
    for value in ("newer", "newest"):
        whole.value = value
        await keeper.save(whole)
    assert await restored(StateKeeper("it", "key", DataStore(tmp_path)), Whole()) == "newest"


async def test_non_json_line_is_refused_each_time(tmp_path: Path) -> None:
    keeper, holder = StateKeeper("it", "key", DataStore(tmp_path)), Growing()
    holder.add(1)
    earlier = keeper.save(holder)
    for item in (object(), 2):
        holder.add(item)
        with pytest.raises(StateError, match=r"key\.jsonl"):
            await keeper.save(holder)
    await earlier
    assert not keeper.on_disk
    keeper.release(holder)
    assert await restored(keeper, Whole()) == holder.value
    assert await restored(StateKeeper("it", "key", DataStore(tmp_path)), Growing()) == [1]


async def test_pending_save_keeps_released_state(tmp_path: Path) -> None:
    store = DataStore(tmp_path)
    keeper, holder = StateKeeper("it", "key", store), Whole("state")
    promise = keeper.save(holder)
    keeper.release(holder)
    assert await restored(keeper, Whole()) == "state"
    await promise
    assert keeper.on_disk


class Telling(JournalSuffices, ABC):
    """Tells what is new in its state, and cannot tell the whole."""

    def __init__(self) -> None:
        self.value: list[Any] = []
        self.new: list[Any] = []

    def say(self, item: Any) -> None:
        self.new.append(item)

    @abstractmethod
    def get_serialized(self) -> Any: ...

    def get_new_messages(self) -> list[Any]:
        new, self.new = self.new, []
        self.value = [*self.value, *new]
        return new

    def set_serialized(self, state: Any, /) -> None:
        self.value = state


class Told(Telling):
    """May be made although `get_serialized` is abstract: its lines say everything."""


def test_only_lines_make_up_for_a_whole_state() -> None:
    class Silent(JournalSuffices, ABC):
        @abstractmethod
        def get_serialized(self) -> Any: ...

    class Mute(Silent):
        pass

    class Both(Told):
        def get_serialized(self) -> Any:
            return "whole"

    assert Both().get_serialized() == "whole"
    with pytest.raises(NotImplementedError, match="Told tells only what is new"):
        Told().get_serialized()  # type: ignore[abstract]  # as below
    with pytest.raises(TypeError, match="get_serialized"):
        Mute()  # type: ignore[abstract]  # the mistake


@pytest.mark.parametrize("disk", ["none", "refusing", "working"])
async def test_lines_alone_restore_each_time(tmp_path: Path, disk: str) -> None:
    folder = tmp_path / "folder"
    keeper = StateKeeper("it", "key", None if disk == "none" else DataStore(folder))
    for number in range(3):
        holder = Told()  # type: ignore[abstract]  # type checkers go by the name alone
        await keeper.restore(holder)
        assert holder.value == list(range(number))
        if disk == "refusing":
            folder.write_text("not a folder")
        holder.say(number)
        with nullcontext() if disk != "refusing" else pytest.raises(StateError):
            await keeper.save(holder)
        keeper.release(holder)
    if disk == "working":
        assert await DataStore(folder).load_lines("key") == [0, 1, 2]


async def test_whole_state_is_refused_by_lines(
    tmp_path: Path,
) -> None:
    await StateKeeper("it", "key", DataStore(tmp_path)).save(Whole({"a": 1}))
    with pytest.raises(StageFailed, match="saved whole, and Told goes on from lines only"):
        await StateKeeper("it", "key", DataStore(tmp_path)).restore(Told())  # type: ignore[abstract]  # as above
