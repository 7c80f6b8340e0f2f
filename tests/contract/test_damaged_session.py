"""Whatever byte of whatever file is damaged, the chat opens, says so, and goes on."""

import asyncio
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.contract.killed_engine import HELPER, agents, reasoners, texts_in
from tests.limits import scaled

from genie_core.datastore import DataStore
from genie_core.execution import Answered, Decided
from genie_core.message import Message
from genie_core.session import GroupSession

PEOPLE = ("alice", "bob")
PLACES = 40  # in each file
HELPERS = ("reasoner", "system", f"system/helper:{HELPER}")


async def chat(store: DataStore, number: int) -> list[str]:
    """Let everybody ask something; return what was said before."""
    session = GroupSession("chat", reasoners(), agents(), store)
    before = await session.remembered()
    for person in PEOPLE:
        execution = session.handle(Message(f"{number} from {person}?", person))
        events = [event async for event in execution.events()]
        assert [type(event) for event in events] == [Decided, Answered]
    await session.join()
    await store.aclose()
    return [message.content for message in before]


async def memories(folder: Path) -> dict[str, list[str]]:
    """Read what everybody's helpers remember, by the file it is in, without its suffix."""
    store = DataStore(folder)
    found = {}
    for person in PEOPLE:
        for helper in HELPERS:
            *above, key = helper.split("/")
            part = store.narrowed("chat", person, *above)
            name = "/".join(("chat", person, *above, key.replace(":", "%3a")))
            found[name] = await texts_in(part, key)
    await store.aclose()
    return found


def damages(content: bytes, places: int) -> Iterator[bytes]:
    """Cut a file, and flip bits of it, all over.

    That no bit may flip unnoticed is shown where the format is tested.
    """
    for at in range(0, len(content), max(1, len(content) // places)):
        yield content[:at]
        yield content[:at] + bytes([content[at] ^ 1 << at % 8]) + content[at + 1 :]


def ends_between_lines(content: bytes, damaged: bytes) -> bool:
    """Tell whether nobody can know that there was more."""
    return content.startswith(damaged) and damaged[-1:] in {b"", b"\n"}


@pytest.fixture
async def whole(tmp_path: Path) -> Path:
    for number in (1, 2):
        await chat(DataStore(tmp_path / "whole"), number)
    return tmp_path / "whole"


FILES = [
    "chat/session.jsonl",
    "chat/alice/reasoner.jsonl",
    "chat/bob/reasoner.json",
    "chat/alice/system.jsonl",
    "chat/bob/system.json",
    f"chat/alice/system/helper%3a{HELPER}.json",
    f"chat/bob/system/helper%3a{HELPER}.jsonl",
]


async def test_all_the_files_are_known(whole: Path) -> None:
    found = (path for path in whole.rglob("*") if path.is_file())
    assert sorted(str(path.relative_to(whole)) for path in found) == sorted([*FILES, "chat.lock"])


@pytest.mark.drill
@pytest.mark.parametrize("file", FILES)
async def test_damage_costs_only_damaged_data(
    whole: Path, tmp_path: Path, file: str, drills: Callable[[int], int]
) -> None:
    content = (whole / file).read_bytes()
    expected = await memories(whole)
    folder = tmp_path / "damaged"
    for damaged in damages(content, drills(PLACES)):
        shutil.copytree(whole, folder)
        (folder / file).write_bytes(damaged)
        store = DataStore(folder)
        async with asyncio.timeout(scaled(60)):
            said = await chat(store, 3)
        lost = len(said) < len(expected["chat/alice/reasoner"]) + 1
        if file != "chat/session.jsonl":
            assert not lost
        for place, texts in (await memories(folder)).items():
            assert texts[-1] == f"3 from {place.split('/')[1]}?", (place, damaged)
            forgot = not set(expected[place]) <= set(texts)
            if not file.startswith((f"{place}.", "chat/session.")):
                assert not forgot, (place, damaged)
            lost = lost or forgot
        if lost and not ends_between_lines(content, damaged):
            assert store.problems, damaged
        shutil.rmtree(folder)
