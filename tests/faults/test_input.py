"""What a program may get wrong is refused where it hands it in, by name."""

from pathlib import Path
from typing import Any

import pytest
from tests.faults.scene import events, joined, session

from genie_core.datastore import DataStore
from genie_core.errors import InvalidFactory, InvalidMessage, InvalidSetting
from genie_core.execution import Answered
from genie_core.message import Attachment, Message
from genie_core.reasoner import GroupReasonerFactory
from genie_core.session import GroupSession
from genie_testing import ScriptedReasoner, agent_factory, reasoner_factory

pytestmark = pytest.mark.timeout(100)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("id", 3),
        ("id", None),
        ("group_reasoner_factory", agent_factory()),
        ("group_reasoner_factory", None),
        ("agent_factory", reasoner_factory()),
        ("agent_factory", lambda _secrets: None),
        ("data_store", "sessions"),
        ("data_store", Path("sessions")),
        ("preferences_source", {"alice": "short"}),
    ],
)
def test_wrong_session_argument_is_named(name: str, value: Any) -> None:
    arguments: dict[str, Any] = {
        "id": "s",
        "group_reasoner_factory": reasoner_factory(),
        "agent_factory": agent_factory(),
        name: value,
    }
    with pytest.raises(InvalidSetting, match=name):
        GroupSession(**arguments)


def test_arguments_that_were_swapped_are_noticed() -> None:
    wrong: Any = GroupSession
    with pytest.raises(InvalidSetting, match="group_reasoner_factory must be a GroupReasoner"):
        wrong("s", agent_factory(), reasoner_factory())


async def test_a_refused_message_leaves_no_trace(tmp_path: Path) -> None:
    chat = session(store=DataStore(tmp_path))
    file: Any = Attachment(path=tmp_path / "a", name="a", media_type="text/plain")  # type: ignore[arg-type]  # the mistake is the test
    wrong: list[Any] = [
        Message("hi", "system"),
        Message("hi", " System "),
        Message("", "alice"),
        Message("hi", ""),
        Message("hi", "alice", attachments=[file]),
        Message("hi", "alice", request_id=7),  # type: ignore[arg-type]  # the mistake is the test
        {"content": "hi", "sender": "alice"},
        None,
    ]
    for message in wrong:
        with pytest.raises(InvalidMessage):
            chat.handle(message)
    assert chat.running == []
    last = (await events(chat.handle(Message("fine", "alice"))))[-1]
    assert isinstance(last, Answered)
    await joined(chat)
    saved = await GroupSession.load_messages(DataStore(tmp_path))
    assert saved is not None
    assert [message.content for message in saved] == ["fine", "echo: fine"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": "", "sender": "alice"},
        {"query": "hi", "sender": ""},
        {"query": "hi", "sender": "System"},
        {"query": None, "sender": "alice"},
        {"query": "hi", "sender": "alice", "receiver": 3},
        {"query": "hi", "sender": "alice", "attachments": ["a.txt"]},
        {"query": " ", "sender": "alice", "attachments": [Attachment("/a", "a", "text/plain")]},
    ],
)
async def test_a_query_that_makes_no_sense_is_refused(arguments: dict[str, Any]) -> None:
    chat = session()
    with pytest.raises(InvalidMessage):
        chat.delegate(**arguments)
    await joined(chat)


async def test_agent_messages_can_be_appended() -> None:
    chat = session()
    chat.append(Message("an answer", "system"))
    await joined(chat)


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), "5"])
def test_a_senseless_timeout_is_refused(timeout: Any) -> None:
    with pytest.raises(InvalidSetting, match="group_reasoner_idle_timeout must be a positive"):
        reasoner_factory(idle_timeout=timeout)


async def _a_coroutine(_secrets: dict[str, str], _owner: str) -> ScriptedReasoner:
    return ScriptedReasoner()


@pytest.mark.parametrize(
    "function",
    [
        None,
        "factory",
        lambda: None,
        lambda _secrets: None,
        lambda _secrets, _tools, _infos: None,
        _a_coroutine,
        ScriptedReasoner,
    ],
)
def test_misshapen_factory_is_refused(
    function: Any,
) -> None:
    with pytest.raises(InvalidFactory, match="must be callable as factory"):
        GroupReasonerFactory(function)


@pytest.mark.parametrize(
    "function",
    [
        lambda _secrets, _owner: ScriptedReasoner(),
        lambda _secrets, _owner, _style="plain": ScriptedReasoner(),
        lambda _secrets, _owner, *, model: ScriptedReasoner(),
        lambda *_args, **_options: ScriptedReasoner(),
    ],
)
def test_callable_factory_is_accepted(function: Any) -> None:
    GroupReasonerFactory(function)
