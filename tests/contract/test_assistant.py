"""The ready-made assistant end to end: real client libraries, real room, scripted model replies."""

from pathlib import Path

import pytest
from tests.contract.assisted import (
    KEY,
    Guest,
    config,
    delegates,
    ignores,
    room_of_two,
    served_by,
)

from genie_core.assistant.config import AgentSpec, Budget, Rule, Runtime
from genie_core.assistant.errors import MissingVariable
from genie_core.assistant.tools.files.changes import UndoRefused
from genie_core.room.client.model import Answer
from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    EngineChanged,
)
from genie_core.runtime.progress import REASONER
from genie_testing.openai import FakeOpenAI
from genie_testing.turns import Call, Calls, Cut, Refuse, Say

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.parametrize("runtime", ["pydantic-ai", "openai-agents"]),
]

BERLIN = "we fly to Berlin on Thursday at 9"
AGREED = "then I book the hotel from Thursday"
WRONG = "as I said, the flight is on Friday"


async def test_contradicted_claim_is_corrected(runtime: Runtime, tmp_path: Path) -> None:
    """All decisions, calls and answers of the models are scripted."""
    async with (
        FakeOpenAI(ignores("a plan"), api_key=KEY) as anns_model,
        FakeOpenAI(
            ignores("fits what Ann said"),
            delegates("Bob says the flight is on Friday. Check it.", "bob", "Ann said Thursday"),
            api_key=KEY,
        ) as bobs_small_model,
        FakeOpenAI(
            Call("search_chat", {"words": "fly Berlin"}),
            Say("Ann wrote Thursday at 9, not Friday."),
            api_key=KEY,
        ) as bobs_model,
    ):
        rules = (Rule("ask", "search_chat"),)
        settings = {"runtime": runtime, "template": "fact_check"}
        small = served_by(bobs_small_model, "small-1")
        anns = config(anns_model, **settings)
        bobs = config(bobs_model, rules=rules, reasoner=small, **settings)
        async with room_of_two(tmp_path, anns, bobs) as two:
            two.ann.joined.messages.send(BERLIN)
            await two.bob.ended(BERLIN)
            two.bob.joined.messages.send(AGREED)
            await two.bob.ended(AGREED)
            two.bob.joined.messages.send(WRONG)
            call = await two.ann.asked()
            assert not two.ann.joined.approvals.answer(call.id, Answer(allow=True))
            await two.bob.asked()
            assert two.bob.joined.approvals.answer(call.id, Answer(allow=True))
            await two.ann.ended(WRONG)
            await two.bob.ended(WRONG)
            for guest in (two.ann, two.bob):
                told = guest.said(WRONG)
                assert told is not None
                assert told.decision is not None
                assert (told.decision.decision, told.decision.reason) == (
                    "delegate",
                    "Ann said Thursday",
                )
                asked = guest.joined.state.calls[call.id]
                assert (asked.owner, asked.agent, asked.tool) == ("bob", "system", "search_chat")
                assert (asked.outcome, asked.settled_by) == ("approved", "bob")
                assert "rule 1" in asked.because
                assert told.answer is not None
                assert told.answer.text == "Ann wrote Thursday at 9, not Friday."
                assert told.answer.receiver == "bob"
                assert [(each.agent, each.model, each.requests) for each in told.spent] == [
                    (REASONER, "small-1", 1),
                    ("system", "scripted-1", 2),
                ]
                silent = guest.said(BERLIN)
                assert silent is not None
                assert silent.decision is not None
                assert (silent.decision.decision, silent.decision.reason) == ("ignore", "a plan")
                assert sum(each.input_tokens for each in silent.spent) > 0
                assert guest.joined.state.costs.silence.keys() == {"ann", "bob"}
            found = bobs_model.requests[-1].tool_results[-1]
            assert BERLIN in found


def at_work(guest: Guest) -> set[str]:
    """The agents of which it was told what they were at."""
    return {path.partition(":")[0] for _, path, _, _ in guest.ear.progress}


async def test_coordinator_directs_two_agents(runtime: Runtime, tmp_path: Path) -> None:
    """All replies of the three models are scripted."""
    async with (
        FakeOpenAI(
            Calls(
                Call("run_subagent", {"query": "What did Ann say?", "subagent_name": "researcher"}),
                Call("run_subagent", {"query": "What is 6*7?", "subagent_name": "coder"}),
            ),
            Say("Ann said hello, and it is 42."),
            api_key=KEY,
        ) as coordinator,
        FakeOpenAI(Say("She said hello."), api_key=KEY) as researcher,
        FakeOpenAI(Call("calculate", {"expression": "6*7"}), Say("42"), api_key=KEY) as coder,
    ):
        agents = (
            AgentSpec("researcher", "Looks things up.", model=served_by(researcher, "small-1")),
            AgentSpec("coder", "Writes code.", model=served_by(coder), tools=("calculate",)),
        )
        rules = (Rule("ask", agent="coder"),)
        settings = config(coordinator, runtime=runtime, agents=agents, rules=rules)
        async with room_of_two(tmp_path, settings) as two:
            two.ann.joined.messages.send("@genie what did I say, and what is 6*7?")
            call = await two.bob.asked()
            assert call.agent.startswith("coder:")
            assert (call.owner, call.tool) == ("ann", "calculate")
            await two.ann.asked()
            schema = two.ann.joined.approvals.schema(call.id)
            assert schema is not None
            assert schema["required"] == ["expression"]
            # What agents are at is passed on as long as they are at it.
            await two.bob.ear.until(lambda: at_work(two.bob) == {"system", "researcher", "coder"})
            two.ann.joined.approvals.answer(call.id, Answer(allow=True))
            await two.ann.ended("@genie what did I say, and what is 6*7?")
            await two.bob.caught_up(two.ann)
            answers = two.bob.bodies(AnswerPosted)
            assert [each.text for each in answers] == ["Ann said hello, and it is 42."]
            agents_paid = {
                each.agent.partition(":")[0]: (each.model, each.requests)
                for each in answers[0].spent
            }
            assert agents_paid == {
                "system": ("scripted-1", 2),
                "researcher": ("small-1", 1),
                "coder": ("scripted-1", 2),
            }
            assert at_work(two.bob) == {"system", "researcher", "coder"}
            told = "\n".join(coordinator.requests[0].texts)
            assert "- researcher: Looks things up.\n- coder: Writes code." in told
            assert coder.requests[0].tools == ["calculate"]
            assert "run_subagent" not in researcher.requests[0].tools
            allowance = (
                two.ann.joined.engine.controls.allowance if two.ann.joined.engine.controls else None
            )
            assert allowance is not None
            assert allowance.tokens == sum(
                each.input_tokens + each.output_tokens for each in answers[0].spent
            )


async def test_open_approval_blocks_no_question(runtime: Runtime, tmp_path: Path) -> None:
    """Two answers of one person go on at once, and don't write the same file."""
    first, second, third = "@genie note it", "@genie note that, too", "@genie go on"
    steps = ["Look", "Write"]
    turns = (
        Call("write_file", {"path": "a.md", "content": "one"}),
        Calls(
            Call("update_plan", {"steps": steps, "done": 1}),
            Call("write_file", {"path": "a.md", "content": "two"}),
        ),
        Say("a.md has to wait"),
        Say("noted"),
        Say("went on"),
    )
    (workspace := tmp_path / "workspace").mkdir()
    async with FakeOpenAI(*turns, api_key=KEY) as server:
        settings = config(server, runtime=runtime, workspace=workspace)
        async with room_of_two(tmp_path, settings) as two:
            ann = two.ann.joined
            ann.messages.send(first)
            call = await two.ann.asked()
            ann.messages.send(second)
            beside = await two.bob.ended(second)
            assert beside.answer is not None, beside.error
            assert beside.answer.text == "a.md has to wait"
            assert "a.md is being changed by another answer" in server.requests[-1].tool_results[1]
            assert "note it" not in server.requests[-1].texts
            assert list(ann.state.open) == [call.id], "the second call was not asked about"
            await two.bob.noted("plan: ✓ Look; ▸ Write", "write_file: a.md is being changed")
            ann.approvals.answer(call.id, Answer(allow=True))
            done = await two.bob.ended(first)
            assert done.answer is not None, done.error
            assert (workspace / "a.md").read_text() == "one"
            ann.messages.send(third)
            await two.bob.ended(third)
            said = [each for each in server.requests[-1].texts if each in SAID]
            assert said == ["a.md has to wait", "noted"]


SAID = {"a.md has to wait", "noted", "went on"}


async def test_other_library_continues_session(runtime: Runtime, tmp_path: Path) -> None:
    other: Runtime = "openai-agents" if runtime == "pydantic-ai" else "pydantic-ai"
    replies = [Say("first"), Say("second"), Say("third")]
    async with FakeOpenAI(*replies, api_key=KEY) as server:
        for number, chosen in enumerate((runtime, other, runtime), 1):
            text = f"@genie number {number}"
            async with room_of_two(tmp_path, config(server, runtime=chosen)) as two:
                two.ann.joined.messages.send(text)
                thread = await two.ann.ended(text)
                assert thread.answer is not None, thread.error
                assert thread.answer.text == replies[number - 1].text
    shown = [{"first", "second"} & set(request.texts) for request in server.requests]
    assert shown == [set(), set(), {"first"}]


async def test_nothing_goes_over_the_budget_unasked(runtime: Runtime, tmp_path: Path) -> None:
    async with FakeOpenAI(Say("one"), Say("three"), Say("four"), api_key=KEY) as server:
        settings = config(server, runtime=runtime, budget=Budget(tokens=20))
        async with room_of_two(tmp_path, settings) as two:
            ann, bob = two.ann, two.bob
            ann.joined.messages.send("@genie one")
            await ann.ended("@genie one")

            ann.joined.messages.send("@genie two")
            call = await ann.asked()
            assert call.tool == "exceed_budget"
            ann.joined.approvals.answer(call.id, Answer(allow=False))
            await ann.ended("@genie two")  # so that only the next one can be asked about
            denied = await bob.ended("@genie two")
            assert denied.error is not None
            assert "/budget" in denied.error.error

            ann.joined.messages.send("@genie three")
            ann.joined.approvals.answer((await ann.asked()).id, Answer(allow=True))
            allowed = await bob.ended("@genie three")
            assert allowed.answer is not None
            assert allowed.answer.text == "three"

            assert ann.joined.engine.controls is not None
            ann.joined.engine.controls.raise_budget(tokens=1_000_000)
            ann.joined.messages.send("@genie four")
            raised = await bob.ended("@genie four")
            assert raised.answer is not None
            assert raised.answer.text == "four"
            assert len(bob.bodies(ApprovalRequested)) == 2


async def test_each_call_undoes_its_file_change(runtime: Runtime, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    notes = work / "notes.md"
    notes.write_text("one", encoding="utf-8")
    calls = Calls(
        Call("edit_file", {"path": "notes.md", "old": "one", "new": "two"}),
        Call("write_file", {"path": "new.md", "content": "mine"}),
    )
    helped = Call("run_subagent", {"query": "write it", "subagent_name": "helper"})
    async with FakeOpenAI(helped, calls, Say("done"), Say("done"), api_key=KEY) as server:
        agents = (AgentSpec("helper", "Writes files.", prompt="general"),)
        rules = (Rule("allow"),)
        settings = config(server, runtime=runtime, workspace=work, agents=agents, rules=rules)
        async with room_of_two(tmp_path, settings) as two:
            two.ann.joined.messages.send("@genie write it")
            thread = await two.ann.ended("@genie write it")
            assert thread.answer is not None, thread.error
            asked = {each.tool: each.approval for each in two.ann.bodies(ApprovalRequested)}
            controls = two.ann.joined.engine.controls
            assert controls is not None
            for call, name in (("edit_file", "notes.md"), ("write_file", "new.md")):
                plan = await controls.plan_undo(approval=asked[call])
                assert plan.name == name
                await controls.undo(plan.number)
            assert [each.name for each in work.iterdir()] == ["notes.md"]
            assert notes.read_text(encoding="utf-8") == "one"
            with pytest.raises(UndoRefused, match="this call"):
                await controls.plan_undo(approval=asked["run_subagent"])


async def test_busy_model_and_cut_are_survived(runtime: Runtime, tmp_path: Path) -> None:
    busy = Refuse(429, retry_after=0.01)
    async with (
        FakeOpenAI(busy, Say("at last"), api_key=KEY) as server,
        room_of_two(tmp_path, config(server, runtime=runtime)) as two,
    ):
        two.ann.joined.messages.send("@genie are you there?")
        first = await two.bob.ended("@genie are you there?")
        assert first.answer is not None
        assert first.answer.text == "at last"
        server.script(Cut("I was about to"), Say("here again"))
        two.ann.joined.messages.send("@genie go on")
        broken = await two.bob.ended("@genie go on")
        assert broken.error is not None
        assert "broke off" in broken.error.error
        assert KEY not in broken.error.error
        two.ann.joined.messages.send("@genie and now?")
        again = await two.bob.ended("@genie and now?")
        assert again.answer is not None
        assert again.answer.text == "here again"


async def test_switched_model_answers_next(runtime: Runtime, tmp_path: Path) -> None:
    async with (
        FakeOpenAI(Say("first"), Say("second"), api_key=KEY) as server,
        room_of_two(tmp_path, config(server, runtime=runtime)) as two,
    ):
        ann, bob = two.ann, two.bob
        ann.joined.messages.send("@genie who are you?")
        await ann.ended("@genie who are you?")
        assert await ann.joined.engine.use_model("offline") == "offline helper"
        assert ann.joined.engine.status.offline
        await bob.ear.until(lambda: bob.joined.state.people["ann"].agent == "offline helper")
        ann.joined.messages.send("@genie what is 6*7?")
        thread = await bob.ended("@genie what is 6*7?")
        assert thread.answer is not None
        assert thread.answer.text == "6*7 = 42"
        with pytest.raises(MissingVariable, match="ANTHROPIC_API_KEY"):
            await ann.joined.engine.use_model("anthropic:claude-sonnet-4-5")
        assert ann.joined.engine.status.label == "offline helper"
        assert await ann.joined.engine.use_model("scripted-2") == "scripted-2"
        ann.joined.messages.send("@genie and who are you now?")
        thread = await bob.ended("@genie and who are you now?")
        assert thread.answer is not None
        assert thread.answer.text == "second"
        assert [each.model for each in thread.spent] == ["scripted-2"]
        assert [request.model for request in server.requests] == ["scripted-1", "scripted-2"]
        assert "first" in server.requests[-1].texts  # it remembers what was said before
        labels = [each.agent for each in bob.bodies(EngineChanged)]
        assert labels[-2:] == ["offline helper", "scripted-2"]
        assert [each.reason for each in bob.bodies(ApprovalResolved)] == ["it only reads"]
