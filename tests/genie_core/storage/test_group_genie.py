import asyncio
import json
import logging
import shutil
from pathlib import Path
from typing import Any

import pytest
from agents import ModelSettings
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from tests.limits import scaled

from genie_core.agent.base import AgentInfo as AgentDescription
from genie_core.agent.factory import AgentFactory
from genie_core.agent.provider.openai import DefaultAgent as OpenAIAgent
from genie_core.agent.provider.pydantic_ai import DefaultAgent, DefaultGroupReasoner
from genie_core.datastore import DataStore, path_name
from genie_core.errors import MissingKey
from genie_core.message import Message
from genie_core.reasoner.factory import GroupReasonerFactory
from genie_core.session import GroupSession
from genie_core.storage.group_genie import carry_over
from genie_core.storage.messages import MessageLog, load_messages

FILES = Path(__file__).parents[2] / "data" / "group_genie"


def copied(version: str, folder: Path) -> DataStore:
    shutil.copytree(FILES / version, folder)
    return DataStore(folder)


async def opened(store: DataStore, session: str) -> list[Message]:
    conversation = MessageLog(store.narrowed(session))
    await conversation.opened()
    return conversation.messages


def lines(*place: str) -> list[Any]:
    text = FILES.joinpath(*place).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def value(*place: str) -> Any:
    return json.loads(FILES.joinpath(*place).read_text(encoding="utf-8"))


def tree(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


ALICE = ("alice", "system", "search:00000001", "web reader:00000002")
BOB = ("Bob Lee", "system", "search:00000003", "web reader:00000004")


@pytest.mark.parametrize(
    ("folder", "person"), [("alice", ALICE), ("Bob_Lee", BOB)], ids=["plain", "substituted"]
)
async def test_journals_move_with_subagents(
    tmp_path: Path, folder: str, person: tuple[str, ...]
) -> None:
    store = copied("0.0.4", tmp_path / "store")
    messages = await opened(store, "team")
    assert [each.serialize() for each in messages] == lines("0.0.4", "team", "session.jsonl")

    owner, system, search, reader = person
    old = ("0.0.4", "team", folder)
    helpers = store.narrowed("team", owner)
    below = helpers.narrowed(system)
    assert await helpers.load_lines("reasoner") == lines(*old, "reasoner.jsonl")
    assert await helpers.load_lines(system) == lines(*old, "system.jsonl")
    name = search.replace(":", "_")
    assert await below.load_lines(search) == lines(*old, f"{name}.jsonl")
    name = reader.replace(":", "_").replace(" ", "_")
    assert await below.narrowed(search).load_lines(reader) == lines(*old, f"{name}.jsonl")
    assert store.problems == []


async def test_whole_states_move_unwrapped(tmp_path: Path) -> None:
    store = copied("0.0.2", tmp_path / "store")
    messages = await opened(store, "team")
    listed = value("0.0.2", "team", "session.json")["messages"]
    assert [each.serialize() for each in messages] == listed

    old = ("0.0.2", "team", "Bob_Lee")
    helpers = store.narrowed("team", "Bob Lee")
    below = helpers.narrowed("system")
    assert await helpers.load("reasoner") == value(*old, "reasoner.json")
    assert await helpers.load("system") == value(*old, "system.json")["agent"]
    search = value(*old, "search_00000003.json")["agent"]
    assert await below.load("search:00000003") == search
    reader = value(*old, "web_reader_00000004.json")["agent"]
    assert await below.narrowed("search:00000003").load("web reader:00000004") == reader


@pytest.mark.parametrize("version", ["0.0.2", "0.0.4"])
async def test_originals_stay_move_runs_once(
    tmp_path: Path, version: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = copied(version, tmp_path / "store")
    originals = tree(tmp_path / "store" / "team")
    with caplog.at_level(logging.WARNING):
        await opened(store, "team")
    (told,) = caplog.messages
    assert "8 reasoners and agents" in told

    after = tree(tmp_path / "store" / "team")
    for name, content in originals.items():
        now = name.replace("Bob_Lee", path_name("Bob Lee"))
        assert after[f"{now}.group-genie"] == content
    await opened(DataStore(tmp_path / "store"), "team")
    assert tree(tmp_path / "store" / "team") == after
    assert len(caplog.messages) == 1


class Unreliable:
    """Lets a number of files be renamed or removed, and then no more."""

    def __init__(self, patch: pytest.MonkeyPatch, error: BaseException) -> None:
        self.left = 10_000
        self._error = error
        for name in ("rename", "replace", "unlink"):
            patch.setattr(Path, name, self._limited(getattr(Path, name)))

    def _limited(self, real: Any) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            self.left -= 1
            if self.left < 0:
                raise self._error
            return real(*args, **options)

        return call


@pytest.mark.parametrize(("version", "session"), [("0.0.2", "team"), ("0.0.4", "room:1")])
async def test_it_may_be_interrupted_anywhere(
    tmp_path: Path, version: str, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await carry_over(copied(version, tmp_path / "whole").narrowed(session))
    expected = tree(tmp_path / "whole")
    steps = Unreliable(monkeypatch, OSError("gone"))
    interrupted = 0
    for number in range(1_000):
        folder = tmp_path / str(number)
        steps.left = 10_000
        store = copied(version, folder)
        steps.left = number
        await carry_over(store.narrowed(session))
        done = steps.left >= 0
        steps.left = 10_000
        if done:
            break
        interrupted += 1
        await carry_over(DataStore(folder).narrowed(session))
        now = tree(folder)
        if (old := now.pop("team/session.json", None)) is not None:  # it was about to be removed
            assert old == now["team/session.json.group-genie"]
        assert now == expected, f"interrupted after {number} steps"
        shutil.rmtree(folder)
    assert interrupted > 8


async def test_what_two_people_shared_goes_to_neither(tmp_path: Path) -> None:
    store = copied("0.0.4", tmp_path / "store")
    assert len(await opened(store, "room:1")) == len(lines("0.0.4", "room_1", "session.jsonl"))
    for owner in ("a/b", "a_b"):
        for key in ("reasoner", "system"):
            assert await store.narrowed("room:1", owner).load_lines(key) == []
    zoe = await store.narrowed("room:1", "Zoe").load_lines("system")
    assert zoe == lines("0.0.4", "room_1", "Zoe", "system.jsonl")
    claimed, shared = store.problems
    assert "session 'room_1', a name that it gave to other ids as well" in claimed
    assert "'a/b' and 'a_b'" in shared


@pytest.mark.parametrize(("first", "second"), [("room:1", "room_1"), ("room_1", "room:1")])
async def test_a_session_is_given_to_one_id_only(tmp_path: Path, first: str, second: str) -> None:
    store = copied("0.0.4", tmp_path / "store")
    messages = await opened(store, first)
    assert len(messages) == len(lines("0.0.4", "room_1", "session.jsonl"))
    assert await opened(store, second) == []
    for owner in ("a/b", "a_b"):
        assert await store.narrowed(second, owner).load_lines("system") == []
    assert await store.narrowed(second, "Zoe").load_lines("system") == []
    assert await opened(DataStore(tmp_path / "store"), first) == messages


async def test_shared_name_goes_to_only_user(tmp_path: Path) -> None:
    store = DataStore(tmp_path)
    (tmp_path / "s" / "a_b").mkdir(parents=True)
    message = json.dumps(Message("hi", "a/b").serialize())
    (tmp_path / "s" / "session.jsonl").write_text(f"{message}\n")
    (tmp_path / "s" / "a_b" / "system.jsonl").write_text('{"n": 1}\n')
    await opened(store, "s")
    assert await store.narrowed("s", "a/b").load_lines("system") == [{"n": 1}]
    assert await store.narrowed("s", "a_b").load_lines("system") == []


async def test_orphan_subagents_go_to_system(tmp_path: Path) -> None:
    store = copied("0.0.4", tmp_path / "store")
    (tmp_path / "store" / "team" / "alice" / "system.jsonl").write_text('{"n": 1}\n')
    await opened(store, "team")
    below = store.narrowed("team", "alice", "system")
    for key in ("search:00000001", "web_reader:00000002"):
        name = key.replace(":", "_")
        assert await below.load_lines(key) == lines("0.0.4", "team", "alice", f"{name}.jsonl")


async def test_damaged_lines_are_reported_and_left_out(tmp_path: Path) -> None:
    store = copied("0.0.4", tmp_path / "store")
    path = tmp_path / "store" / "team" / "session.jsonl"
    before = path.read_bytes()
    path.write_bytes(b'{"content": "half' + b"\n" + before + b'{"content": "torn')
    damaged = path.read_bytes()
    messages = await opened(store, "team")
    assert [each.serialize() for each in messages] == lines("0.0.4", "team", "session.jsonl")
    (problem,) = store.problems
    assert "2 damaged lines" in problem
    assert path.with_name("session.jsonl.group-genie").read_bytes() == damaged


async def test_a_damaged_state_is_reported_and_stays(tmp_path: Path) -> None:
    store = copied("0.0.2", tmp_path / "store")
    (tmp_path / "store" / "team" / "Bob_Lee" / "system.json").write_text("{")
    assert await opened(store, "team")
    assert any("system.json is damaged" in problem for problem in store.problems)
    helpers = store.narrowed("team", "Bob Lee")
    with pytest.raises(MissingKey):
        await helpers.load("system")
    assert (helpers.root_path / "system.json.damaged").read_text() == "{"


async def test_failed_move_is_retried_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = copied("0.0.4", tmp_path / "store")
    expected = lines("0.0.4", "team", "session.jsonl")
    with monkeypatch.context() as patch:
        Unreliable(patch, OSError(28, "No space left on device")).left = 0
        messages = await opened(store, "team")
        assert [each.serialize() for each in messages] == expected
    assert "No space left on device" in store.problems[0]
    again = DataStore(tmp_path / "store")
    assert len(await opened(again, "team")) == len(expected)
    assert len(await again.narrowed("team", "Bob Lee").load_lines("system")) > 0
    assert again.problems == []


async def test_newer_journal_beats_older_state(tmp_path: Path) -> None:
    store = copied("0.0.2", tmp_path / "store")
    shutil.copytree(FILES / "0.0.4" / "team", tmp_path / "store" / "team", dirs_exist_ok=True)
    messages = await opened(store, "team")
    assert [each.serialize() for each in messages] == lines("0.0.4", "team", "session.jsonl")
    system = await store.narrowed("team", "Bob Lee").load_lines("system")
    assert system == lines("0.0.4", "team", "Bob_Lee", "system.jsonl")
    after = tree(tmp_path / "store")
    await opened(DataStore(tmp_path / "store"), "team")
    assert tree(tmp_path / "store") == after


async def test_unopened_session_is_read_by_id(tmp_path: Path) -> None:
    store = copied("0.0.4", tmp_path / "store")
    for session, folder in (("room:1", "room_1"), ("team", "team")):
        messages = await load_messages(store.narrowed(session))
        assert messages is not None
        assert [each.serialize() for each in messages] == lines("0.0.4", folder, "session.jsonl")


async def test_own_session_opens_without_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = DataStore(tmp_path)
    await store.narrowed("s").append("session", [Message("hi", "alice").serialize()])

    def no_search(*_args: object) -> None:
        raise AssertionError("looked through a folder")

    monkeypatch.setattr(Path, "glob", no_search)
    assert [each.content for each in await opened(DataStore(tmp_path), "s")] == ["hi"]


def decide(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    return ModelResponse(parts=[TextPart('{"decision": "delegate", "query": "Go on"}')])


def direct(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    last = messages[-1].parts[-1]
    if isinstance(last, ToolReturnPart):
        found = json.loads(str(last.content))["subagent_response"]
        return ModelResponse(parts=[TextPart(f"{found}, directed after {len(messages)}")])
    call = {"query": "More", "subagent_name": "search", "subagent_instance": "00000001"}
    return ModelResponse(parts=[ToolCallPart("run_subagent", call)])


def search(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    return ModelResponse(parts=[TextPart(f"found after {len(messages)}")])


@pytest.mark.parametrize("version", ["0.0.2", "0.0.4"])
async def test_helpers_go_on_from_what_they_remember(tmp_path: Path, version: str) -> None:
    store = copied(version, tmp_path / "store")
    agents = AgentFactory(
        lambda _secrets, tools, _infos: DefaultAgent(
            "Direct.", FunctionModel(direct), tools=list(tools.values())
        )
    )
    agents.add_agent_factory_fn(
        lambda _secrets: DefaultAgent("Search.", FunctionModel(search)),
        info=AgentDescription("search", "searches"),
    )
    reasoners = GroupReasonerFactory(
        lambda _secrets, _owner: DefaultGroupReasoner("Decide.", FunctionModel(decide))
    )
    answers = []
    for _life in range(2):
        session = GroupSession("team", reasoners, agents, store)
        async with asyncio.timeout(scaled(60)):
            answer = await session.handle(Message("And?", "alice")).result()
            await session.join()
        assert answer is not None
        answers.append(answer.content)
    # Each life adds a query, a call, its result and an answer to the four from group-genie, and
    # the query is in the count already.
    assert answers == ["found after 5, directed after 7", "found after 7, directed after 11"]
    assert store.problems == []


async def test_openai_agent_keeps_its_lines(tmp_path: Path) -> None:
    store = copied("0.0.4", tmp_path / "store")
    await opened(store, "openai")
    saved = await store.narrowed("openai", "alice").load_lines("system")
    assert saved == lines("0.0.4", "openai", "alice", "system.jsonl")
    agent = OpenAIAgent("Answer.", "gpt-4o", ModelSettings())
    agent.set_serialized(saved)
    assert json.dumps(agent.get_serialized()).count("openai answers") == 2
