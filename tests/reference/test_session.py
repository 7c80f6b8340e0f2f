"""A session as the documented API describes it."""

import asyncio
import json
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import AsyncMock, MagicMock

import pytest
from tests.limits import scaled
from tests.reference.conftest import Toys, ask_first

from genie_core.agent import Agent, AgentFactory, AgentInput, Approval, ApprovalCallback
from genie_core.datastore import DataStore
from genie_core.message import Attachment, Message, Thread
from genie_core.preferences import PreferencesSource
from genie_core.reasoner import Decision, GroupReasoner, GroupReasonerFactory, Response
from genie_core.session import Execution, GroupSession


async def elements(execution: Execution) -> list[Decision | Approval | Message]:
    found = []
    async for element in execution.stream():
        if isinstance(element, Approval):
            element.approve()
        found.append(element)
    return found


async def test_ignored_message_has_no_result(toys: Toys) -> None:
    execution = toys.session().handle(Message("hello", "ann"))
    assert await elements(execution) == [Decision.IGNORE]
    assert await execution.result() is None


async def test_delegation_streams_all_elements(toys: Toys) -> None:
    toys.run = ask_first
    execution = toys.session().handle(Message("why?", "ann", request_id="r1"))
    decision, approval, message = await elements(execution)
    assert decision is Decision.DELEGATE
    assert isinstance(approval, Approval)
    assert (approval.sender, approval.tool_name) == ("system", "look_up")
    assert message == Message("looked up", "system", request_id="r1")


async def test_stream_matches_by_class_in_order(toys: Toys) -> None:
    toys.run = ask_first
    seen = []
    async for element in toys.session().handle(Message("why?", "ann")).stream():
        match element:
            case Decision():
                seen.append("decision")
            case Approval() as approval:
                seen.append("approval")
                approval.approve()
            case Message():
                seen.append("message")
    assert seen == ["decision", "approval", "message"]


async def test_second_read_does_not_rerun(toys: Toys) -> None:
    execution = toys.session().handle(Message("why?", "ann"))
    first = await elements(execution)
    assert await elements(execution) == first
    assert await execution.result() == first[-1]
    assert toys.agents[0].queries == ["query: why?"]


async def test_readers_agree_and_may_leave_early(toys: Toys) -> None:
    toys.run = ask_first
    execution = toys.session().handle(Message("why?", "ann"))
    async for element in execution.stream():
        assert element is Decision.DELEGATE
        break
    first, second = await asyncio.gather(elements(execution), elements(execution))
    assert first == second
    assert len(first) == 3
    assert len(toys.agents[0].queries) == 1


async def test_result_approves_every_call(toys: Toys) -> None:
    toys.run = ask_first
    result = await toys.session().handle(Message("why?", "ann")).result()
    assert result is not None
    assert result.content == "looked up"


async def test_denied_call_lets_agent_continue(toys: Toys) -> None:
    toys.run = ask_first
    async for element in toys.session().handle(Message("why?", "ann")).stream():
        if isinstance(element, Approval):
            element.deny()
    assert isinstance(element, Message)
    assert element.content == "not looked up"


async def test_answer_goes_to_named_receiver(toys: Toys) -> None:
    result = await toys.session().handle(Message("can you tell @bob?", "ann")).result()
    assert result is not None
    assert (result.sender, result.receiver) == ("system", "bob")


async def test_handle_keeps_call_order(toys: Toys) -> None:
    session = toys.session()
    executions = [session.handle(Message(f"message {n}", f"p{n % 3}")) for n in range(9)]
    await asyncio.gather(*(each.result() for each in executions))
    chat = json.loads(await session.get_group_chat_messages())
    assert [each["content"] for each in chat] == [f"message {n}" for n in range(9)]


async def test_chat_json_has_all_fields(toys: Toys) -> None:
    session = toys.session()
    await session.handle(Message("why?", "ann", request_id="r1")).result()
    question, reply = json.loads(await session.get_group_chat_messages())
    assert set(question) == {
        *("content", "sender", "receiver", "threads", "attachments", "request_id")
    }
    assert (question["sender"], reply["sender"]) == ("ann", "system")
    assert reply["request_id"] == "r1"


async def test_queries_of_one_sender_are_serial(toys: Toys) -> None:
    running: list[str] = []

    async def alone(given: AgentInput, callback: ApprovalCallback) -> str:
        assert not running
        running.append(given.query)
        await asyncio.sleep(0)
        running.clear()
        return "done"

    toys.run = alone
    session = toys.session()
    executions = [session.handle(Message(f"{n}?", "ann")) for n in range(5)]
    results = await asyncio.gather(*(each.result() for each in executions))
    assert [result.content for result in results if result] == ["done"] * 5
    assert toys.agents[0].queries == [f"query: {n}?" for n in range(5)]


async def test_senders_do_not_wait_for_each_other(toys: Toys) -> None:
    both = asyncio.Barrier(2)

    async def meet(given: AgentInput, callback: ApprovalCallback) -> str:
        async with asyncio.timeout(scaled(10)):
            await both.wait()
        return "met"

    toys.run = meet
    session = toys.session()
    executions = [session.handle(Message("where?", name)) for name in ("ann", "bob")]
    results = await asyncio.gather(*(each.result() for each in executions))
    assert [result.content for result in results if result] == ["met", "met"]


async def test_each_person_has_a_reasoner_and_an_agent(toys: Toys) -> None:
    session = toys.session()
    for name in ("ann", "bob", "ann"):
        await session.handle(Message("well?", name)).result()
    assert set(toys.reasoners) == {"ann", "bob"}
    assert [len(agent.queries) for agent in toys.agents] == [2, 1]


async def test_reasoner_gets_messages_since_last(toys: Toys) -> None:
    session = toys.session()
    for text, name in (("a", "ann"), ("b", "bob"), ("c?", "bob"), ("d", "ann")):
        await session.handle(Message(text, name)).result()
    texts = [[message.content for message in run] for run in toys.reasoners["ann"].runs]
    assert texts == [["a"], ["b", "c?", "answer to query: c?", "d"]]


async def test_request_ids_skip_messages_without(toys: Toys) -> None:
    session = toys.session()
    await session.handle(Message("one", "ann", request_id="r1")).result()
    await session.handle(Message("two", "ann")).result()
    assert await session.request_ids() == {"r1"}


async def test_agent_gets_files_and_preferences(toys: Toys, tmp_path: Path) -> None:
    class Preferences(PreferencesSource):
        async def get_preferences(self, username: str) -> str | None:
            return {"bob": "- be brief"}.get(username)

    file = tmp_path / "notes.txt"
    file.write_text("tea")
    attachment = Attachment(path=str(file), name="notes", media_type="text/plain")
    session = toys.session(preferences_source=Preferences())
    await session.handle(Message("is it @bob?", "ann", attachments=[attachment])).result()
    await session.handle(Message("is it @eve?", "ann")).result()
    first, second = toys.agents[0].inputs
    assert (first.attachments, first.preferences) == ([attachment], "- be brief")
    assert (second.attachments, second.preferences) == ([], None)


async def test_a_reasoner_sees_threads(toys: Toys) -> None:
    thread = Thread(id="other", messages=[Message("earlier", "bob")])
    await toys.session().handle(Message("hm", "ann", threads=[thread])).result()
    assert toys.reasoners["ann"].runs[0][0].threads == [thread]


async def test_join_awaits_running_work(toys: Toys) -> None:
    session = toys.session()
    execution = session.handle(Message("last?", "ann"))
    session.stop()
    await session.join()
    result = await execution.result()
    assert result is not None
    assert result.content == "answer to query: last?"
    assert toys.agents[0].opened == toys.agents[0].closed == 1


async def test_new_session_continues_saved_one(toys: Toys, store: DataStore) -> None:
    session = toys.session(data_store=store)
    await session.handle(Message("first?", "ann", request_id="r1")).result()
    session.stop()
    await session.join()
    toys.reasoners.clear()
    again = toys.session(data_store=store)
    assert await again.request_ids() == {"r1"}
    await again.handle(Message("second?", "ann")).result()
    chat = json.loads(await again.get_group_chat_messages())
    assert [each["content"] for each in chat] == [
        *("first?", "answer to query: first?", "second?", "answer to query: second?")
    ]
    assert toys.agents[-1].queries == ["query: first?", "query: second?"]
    assert toys.reasoners["ann"].processed == 3


async def test_messages_load_without_session(toys: Toys, store: DataStore) -> None:
    session = toys.session(data_store=store)
    await session.handle(Message("hello", "ann")).result()
    session.stop()
    await session.join()
    assert await GroupSession.load_messages(store) == [Message("hello", "ann")]
    async with store.narrow("room") as narrowed:
        assert await GroupSession.load_messages(narrowed) == [Message("hello", "ann")]


async def test_empty_store_has_no_messages(store: DataStore) -> None:
    assert await GroupSession.load_messages(store) is None


async def test_state_is_not_shared_between_owners(toys: Toys, store: DataStore) -> None:
    session = toys.session(data_store=store)
    await session.handle(Message("mine?", "ann")).result()
    session.stop()
    await session.join()
    again = toys.session(data_store=store)
    await again.handle(Message("mine?", "a nn")).result()
    assert toys.agents[-1].queries == ["query: mine?"]


@pytest.fixture
async def failing(toys: Toys) -> GroupSession:
    async def fail(given: AgentInput, callback: ApprovalCallback) -> str:
        raise OSError("no luck")

    toys.run = fail
    return toys.session()


async def test_one_failure_leaves_the_session_usable(toys: Toys, failing: GroupSession) -> None:
    with pytest.raises(Exception, match="no luck"):
        await failing.handle(Message("well?", "ann")).result()
    assert await failing.handle(Message("oh", "ann")).result() is None
    toys.run = ask_first
    result = await failing.handle(Message("well?", "bob")).result()
    assert result is not None
    assert result.content == "looked up"


async def test_mocks_of_an_agent_and_a_reasoner_do(toys: Toys) -> None:
    agent = MagicMock(spec=Agent)
    agent.mcp.return_value = nullcontext(agent)
    agent.run = AsyncMock(return_value="mocked")
    agent.get_serialized.return_value = {}
    reasoner = MagicMock(spec=GroupReasoner, processed=0)
    reasoner.run.return_value = Response(decision=Decision.DELEGATE, query="q")
    reasoner.get_serialized.return_value = {}
    session = toys.session(
        agent_factory=AgentFactory(lambda secrets: agent),
        group_reasoner_factory=GroupReasonerFactory(lambda secrets, owner: reasoner),
    )
    result = await session.handle(Message("hello", "ann")).result()
    assert result is not None
    assert result.content == "mocked"
    [(given, _callback)] = [call.args for call in agent.run.await_args_list]
    assert given.query == "q"
