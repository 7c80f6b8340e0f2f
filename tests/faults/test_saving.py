"""Disks that refuse, files that disagree, and names that file systems dislike."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.faults.scene import DEADLINE, events, joined, last_event, session

from genie_core.agent import AgentInput
from genie_core.datastore import DataStore
from genie_core.execution import Answered, Decided, Failed, Unsaved
from genie_core.message import Message
from genie_core.reasoner import Response
from genie_core.session import GroupSession
from genie_testing import agent_factory, ignore_all, reasoner_factory

pytestmark = pytest.mark.timeout(100)


async def test_unwritable_store_is_reported(tmp_path: Path) -> None:
    (tmp_path / "s").symlink_to("/nowhere/at/all")  # no permissions stop a test that root runs
    chat = session(store=DataStore(tmp_path))
    for text in ("one", "two"):
        recorded = await events(chat.handle(Message(text, "alice")))
        unsaved = [event for event in recorded if isinstance(event, Unsaved)]
        assert isinstance(recorded[-1], Answered)
        assert unsaved
        assert all(str(tmp_path) in event.error for event in unsaved)
    assert any("session.jsonl" in problem for problem in chat.problems)
    assert len(json.loads(await chat.get_group_chat_messages())) == 4
    await joined(chat)


async def test_failed_answer_reports_unsaved(tmp_path: Path) -> None:
    async def fail(_input: AgentInput, *_: Any) -> str:
        raise ConnectionError("model away")

    (tmp_path / "s" / "session.jsonl").mkdir(parents=True)
    chat = session(fail, store=DataStore(tmp_path))
    recorded = await events(chat.handle(Message("hi", "alice")))
    assert [type(event) for event in recorded] == [Decided, Unsaved, Failed]
    await joined(chat)


FULL_DISK = """
import asyncio, json, resource, sys
from pathlib import Path
from genie_core.datastore import DataStore
from genie_core.execution import Answered, Unsaved
from genie_core.message import Message
from genie_core.session import GroupSession
from genie_testing import agent_factory, reasoner_factory

sys.dont_write_bytecode = True  # modules would be cut off for all who import them later

def allow(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

async def main():
    chat = GroupSession("s", reasoner_factory(), agent_factory(), DataStore(Path(sys.argv[1])))
    async def say(text):
        events = [each async for each in chat.handle(Message(text, "alice")).events()]
        assert isinstance(events[-1], Answered), events
        return any(isinstance(event, Unsaved) for event in events)
    allow(1500)
    unsaved = [await say(f"before {number}") for number in range(20)]
    problems = chat.problems
    allow(resource.RLIM_INFINITY)
    unsaved_after = [await say(f"after {number}") for number in range(3)]
    await chat.join()
    print(json.dumps([unsaved, problems, unsaved_after]))

asyncio.run(main())
"""


async def test_freed_disk_is_used_again(
    tmp_path: Path,
) -> None:
    """A limit on the size of files makes the operating system refuse what exceeds it."""
    ended = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", FULL_DISK, str(tmp_path)],
        capture_output=True,
        timeout=DEADLINE,
        check=True,
    )
    unsaved, problems, unsaved_after = json.loads(ended.stdout)
    assert not unsaved[0]
    assert unsaved[-1]
    assert any("session.jsonl" in problem for problem in problems)
    assert not any(unsaved_after)
    saved = await GroupSession.load_messages(DataStore(tmp_path))
    assert saved is not None
    queries = [*(f"before {n}" for n in range(20)), *(f"after {n}" for n in range(3))]
    chat = [text for query in queries for text in (query, f"echo: {query}")]
    assert [message.content for message in saved] == chat


class Witness:
    """Decides nothing, but remembers what it was shown."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __call__(self, updates: list[Message]) -> Response:
        self.seen += [message.content for message in updates]
        return ignore_all(updates)


async def life(folder: Path, *texts: str) -> list[str]:
    """Handle messages in a session of their own; return what the reasoner saw meanwhile."""
    witness = Witness()
    store = DataStore(folder)
    chat = session(decide=witness, store=store)
    for text in texts:
        await last_event(chat.handle(Message(text, "alice")))
    await joined(chat)
    await store.aclose()
    return witness.seen


def lose_messages(folder: Path, count: int) -> None:
    journal = folder / "s" / "session.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[: len(lines) - count]))


@pytest.mark.parametrize("lost", [1, 2, 4])
async def test_reasoner_ahead_misses_no_message(tmp_path: Path, lost: int) -> None:
    await life(tmp_path, "1", "2", "3", "4")
    lose_messages(tmp_path, lost)
    assert await life(tmp_path, "a", "b") == ["a", "b"]
    assert await life(tmp_path, "c") == ["c"]
    lose_messages(tmp_path, 1)
    assert await life(tmp_path, "d", "e") == ["d", "e"]
    assert await life(tmp_path, "f") == ["f"]


async def test_appended_messages_survive_loss(tmp_path: Path) -> None:
    await life(tmp_path, "1", "2", "3")
    lose_messages(tmp_path, 2)
    await life(tmp_path, "4")
    store = DataStore(tmp_path)
    chat = session(store=store)
    for text in ("x", "y", "z"):
        chat.append(Message(text, "bob"))
    await joined(chat)
    await store.aclose()
    assert await life(tmp_path, "5") == ["x", "y", "z", "5"]


async def test_late_reasoner_sees_messages_again(tmp_path: Path) -> None:
    await life(tmp_path, "1", "2")
    shutil.copytree(tmp_path / "s" / "alice", tmp_path / "earlier")
    await life(tmp_path, "3", "4")
    shutil.rmtree(tmp_path / "s" / "alice")
    shutil.copytree(tmp_path / "earlier", tmp_path / "s" / "alice")
    assert await life(tmp_path, "5") == ["3", "4", "5"]
    shutil.rmtree(tmp_path / "s" / "alice")
    assert await life(tmp_path, "6") == ["1", "2", "3", "4", "5", "6"]


ALIKE = [
    *("a/b", "a_b", "a:b", "a\\b", "a%2fb", "a b", "a b ", "a.b", ".", "..", "../s", "-", "%"),
    *("A", "a", "é", "e\u0301", "名前", "имя", "x" * 300, "x" * 299 + "y", "session", "system"),
    *("nul", "con", "a\x00b", "a\nb", "~", "\ud800", "ﬁ", "fi", "ß", "ss"),
]


async def test_similar_names_share_nothing(tmp_path: Path) -> None:
    names = [name for name in ALIKE if name != "system"]
    for number in range(2):
        store = DataStore(tmp_path / "store")
        chat = session(recall, store=store)
        for name in names:
            last = await last_event(chat.handle(Message(f"{name} {number}", name)))
            assert isinstance(last, Answered)
        await joined(chat)
        for name in names:
            state = await store.narrowed("s", name).load("system")
            assert state == {"queries": [f"{name} {n}" for n in range(number + 1)]}
        await store.aclose()
    assert [each.name for each in tmp_path.iterdir()] == ["store"]


async def recall(input: AgentInput, *_: Any) -> str:  # noqa: A002 - as in Agent.run
    return f"echo: {input.query}"


async def test_similar_session_ids_share_nothing(tmp_path: Path) -> None:
    ids = ["", *ALIKE]
    store = DataStore(tmp_path / "store")
    for number in range(2):
        for name in ids:
            chat = GroupSession(name, reasoner_factory(), agent_factory(), store)
            remembered = [message.content for message in await chat.remembered()]
            assert remembered == [f"{name} {n}" for n in range(number)]
            chat.append(Message(f"{name} {number}", "alice"))
            await joined(chat)
    async with store.narrow("a_b") as part:
        saved = await GroupSession.load_messages(part)
    assert saved == [Message(f"a_b {number}", "alice") for number in range(2)]
    await store.aclose()
    assert [each.name for each in tmp_path.iterdir()] == ["store"]


async def test_damaged_state_blocks_nobody(tmp_path: Path) -> None:
    store = DataStore(tmp_path)
    await store.narrowed("s").save("session", {"messages": 5})
    chat = session(store=store)
    for execution in [chat.handle(Message("hi", sender)) for sender in ("alice", "bob")]:
        assert isinstance(await last_event(execution), Answered)
    assert chat.problems
    await joined(chat)


@pytest.mark.parametrize("name", ["session.jsonl", "session.json", "alice/reasoner.json"])
async def test_pipe_as_file_blocks_nobody(tmp_path: Path, name: str) -> None:
    pipe = tmp_path / "s" / name
    pipe.parent.mkdir(parents=True)
    os.mkfifo(pipe)
    store = DataStore(tmp_path)
    chat = session(store=store)
    spoken = [chat.handle(Message("hi", sender)) for sender in ("alice", "bob")]
    endings = [await last_event(execution) for execution in spoken]
    assert isinstance(endings[1], Answered)
    await joined(chat)
    store.close()


@pytest.mark.parametrize(
    "name",
    [
        *("session.jsonl", "session.json", "alice/reasoner.jsonl", "alice/reasoner.json"),
        *("alice/system.jsonl", "alice/system.json", "alice/attachments.json", "alice/ahead.json"),
    ],
)
async def test_unreadable_file_is_left_alone(tmp_path: Path, name: str) -> None:
    unreadable = tmp_path / "s" / name
    unreadable.mkdir(parents=True)  # no permissions stop a test that root runs
    async with DataStore(tmp_path) as store:
        chat = session(store=store)
        for text in ("one", "two"):
            recorded = await events(chat.handle(Message(text, "alice")))
            assert isinstance(recorded[0], Decided)
            assert isinstance(recorded[-1], Answered)
            if not name.startswith(("session.json", "alice/a")) or name.endswith("l"):
                assert any(isinstance(each, Unsaved) for each in recorded)
        assert any(name in problem for problem in chat.problems)
        await joined(chat)
    assert unreadable.is_dir()


async def test_unwritable_numbers_keep_saving(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    old = {"content": "old", "sender": "alice"}
    plain = json.dumps({**old, "more": 0}).replace("0}", "1e999}")
    (tmp_path / "s" / "session.jsonl").write_text(f"{plain}\n")
    chat = session(store=DataStore(tmp_path))
    recorded = await events(chat.handle(Message("new", "alice")))
    assert not [event for event in recorded if isinstance(event, Unsaved)]
    await joined(chat)
    kept = await GroupSession.load_messages(DataStore(tmp_path).narrowed("s"))
    assert [message.content for message in kept or ()][:2] == ["old", "new"]
