"""Permissions, files and updates."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.genie_core.agent.provider.acp.rig import (
    OPTIONS,
    Judge,
    Patient,
    Sink,
    Stage,
    ask,
    permission,
)

from genie_core.agent import Verdict
from genie_core.agent.approval import Approval, ApprovalContext, approval_id
from genie_core.agent.provider.acp import AgentProgramFailed, DefaultAgent, FileAccess
from genie_core.runtime.tasks import start_task

YES = Verdict(approved=True)
NO = Verdict(approved=False, reason="not today")
COMMAND: dict[str, Any] = {"kind": "execute", "title": "ls", "rawInput": {"command": "ls"}}


class Files:
    """Files in a folder, which remember the request that allowed each write."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.written: list[tuple[str, str]] = []

    @property
    def access(self) -> FileAccess:
        return FileAccess(self._read, self._write)

    async def _read(self, path: str) -> str:
        if path == "refused.txt":
            raise ValueError("this file is private")
        return (self._folder / path).read_text()

    async def _write(self, path: str, content: str) -> None:
        self.written.append((path, approval_id.get()))
        (self._folder / path).write_text(content)


def outcomes(stage: Stage) -> list[Any]:
    return [each["outcome"].get("optionId", "cancelled") for each in stage.answers]


def update(name: str, /, **more: Any) -> dict[str, Any]:
    return {"update": {"sessionUpdate": name, **more}}


@pytest.mark.parametrize(("verdict", "chosen"), [(YES, "once"), (NO, "no")])
async def test_a_verdict_chooses_an_option_by_its_kind(
    stage: Stage, verdict: Verdict, chosen: str
) -> None:
    stage.script([{"ask": permission(**COMMAND)}, {"say": "done"}])
    judge = Judge(verdict)
    assert await ask(stage.agent(), callback=judge) == "done"
    assert judge.asked == [("run_command", {"command": "ls"})]
    assert outcomes(stage) == [chosen]


async def test_a_plain_bool_is_a_verdict(stage: Stage) -> None:
    async def deny(_name: str, _arguments: dict[str, Any]) -> bool:
        return False

    stage.script([{"ask": permission(**COMMAND)}, {"say": "done"}])
    await ask(stage.agent(), callback=deny)
    assert outcomes(stage) == ["no"]


async def test_denial_reason_reaches_next_prompt(stage: Stage) -> None:
    stage.script([{"ask": permission(**COMMAND)}, {"say": "done"}])
    agent = stage.agent()
    async with agent.mcp():
        await ask(agent, callback=Judge(NO))
        assert "not today" in stage.answers[0]["_meta"]["reason"]
        await ask(agent, "next")
        await ask(agent, "one more")
    second, third = (each["blocks"] for each in stage.all("prompt")[1:])
    assert "not today" in second[0]["text"]
    assert second[-1]["text"] == "next"
    assert [each["text"] for each in third] == ["one more"]


async def test_edited_call_becomes_next_prompt(stage: Stage) -> None:
    stage.script([{"ask": permission(**COMMAND)}, {"say": "denied"}], [{"say": "made it"}])
    changed = Verdict(approved=True, arguments={"command": "ls -l"})
    sink = Sink()
    answer = await ask(stage.agent(), callback=Judge(changed), sink=sink)
    assert outcomes(stage) == ["no"]
    assert '{"command":"ls -l"}' in stage.all("prompt")[1]["blocks"][0]["text"]
    assert answer == "denied\n\nmade it"
    assert any("can't be handed back" in each for each in sink.of("note"))


async def test_denial_without_text_continues(stage: Stage) -> None:
    stage.script([{"ask": permission(**COMMAND)}], [{"say": "Then I can't."}])
    agent = stage.agent()
    async with agent.mcp():
        assert await ask(agent, callback=Judge(NO)) == "Then I can't."
        await ask(agent, "next")
    _, second, third = (each["blocks"] for each in stage.all("prompt"))
    assert "not today" in second[0]["text"]
    assert [each["text"] for each in third] == ["next"]


async def test_silent_program_is_given_up(stage: Stage) -> None:
    denied = [{"ask": permission(**COMMAND)}, {"stop": {"stopReason": "cancelled"}}]
    stage.script(*[denied] * 10)
    with pytest.raises(AgentProgramFailed) as failed:
        await ask(stage.agent(), callback=Judge(NO))
    assert failed.value.kind == "stopped"
    assert len(stage.all("prompt")) == 4


async def test_unchanged_arguments_are_no_change(stage: Stage) -> None:
    stage.script([{"ask": permission(**COMMAND)}, {"say": "done"}])
    await ask(stage.agent(), callback=Judge(Verdict(approved=True, arguments={"command": "ls"})))
    assert outcomes(stage) == ["once"]


@pytest.mark.parametrize(
    ("options", "verdict", "outcome", "asked"),
    [
        ([], YES, "cancelled", 0),
        (OPTIONS[:1], YES, "cancelled", 0),
        ([OPTIONS[0], OPTIONS[2]], YES, "no", 0),
        (OPTIONS[:2], NO, "cancelled", 1),
        ([{"optionId": "x", "kind": "unheard of", "name": "X"}, *OPTIONS], YES, "once", 1),
        ([5, {"kind": "allow_once"}, *OPTIONS], YES, "once", 1),
    ],
)
async def test_missing_and_odd_options(
    stage: Stage, options: Any, verdict: Verdict, outcome: str, asked: int
) -> None:
    stage.script([{"ask": {**permission(**COMMAND), "options": options}}, {"say": "done"}])
    judge = Judge(verdict)
    assert await ask(stage.agent(), callback=judge) == "done"
    assert outcomes(stage) == [outcome]
    assert len(judge.asked) == asked


async def test_permission_without_call_is_error(stage: Stage) -> None:
    stage.script([{"ask": {"options": OPTIONS}}, {"ask": {"toolCall": 7}}, {"say": "done"}])
    assert await ask(stage.agent()) == "done"
    assert [each["code"] for each in stage.answers] == [-32602, -32602]


async def test_duplicate_request_is_asked_once(stage: Stage) -> None:
    stage.script([{"ask_twice": permission(**COMMAND)}, {"say": "done"}])
    patient = Patient()
    run = start_task(ask(stage.agent(), callback=patient))
    _, answer = await patient.asked.get()
    answer.set_result(YES)
    assert await run == "done"
    assert outcomes(stage) == ["once", "once"]
    assert patient.asked.empty()


async def test_repeated_request_asks_again(stage: Stage) -> None:
    again = {"ask": permission(**COMMAND)}
    stage.script([again, again, {"say": "done"}])
    judge = Judge(YES, NO)
    await ask(stage.agent(), callback=judge)
    assert outcomes(stage) == ["once", "no"]


async def test_two_requests_take_any_order(stage: Stage) -> None:
    both = [permission(n, **{**COMMAND, "rawInput": {"command": n}}) for n in ("a", "b")]
    stage.script([{"ask_all": both}, {"say": "done"}])
    patient = Patient()
    run = start_task(ask(stage.agent(), callback=patient))
    first, second = await patient.asked.get(), await patient.asked.get()
    assert (first[0], second[0]) == ("a", "b")
    second[1].set_result(NO)
    await stage.until("answer")
    first[1].set_result(YES)
    assert await run == "done"
    assert outcomes(stage) == ["no", "once"]


async def test_a_flood_of_requests_is_bounded(stage: Stage) -> None:
    many = [permission(str(n), **COMMAND) for n in range(40)]
    stage.script([{"ask_all": many}, {"say": "done"}])
    patient = Patient()
    run = start_task(ask(stage.agent(), callback=patient))
    await stage.until("answer", 8)
    assert outcomes(stage) == ["cancelled"] * 8
    for _ in range(32):
        (await patient.asked.get())[1].set_result(YES)
    assert await run == "done"


async def test_unknown_session_is_cancelled(stage: Stage) -> None:
    stage.script([{"ask": {**permission(**COMMAND), "sessionId": "another"}}, {"say": "done"}])
    judge = Judge()
    await ask(stage.agent(), callback=judge)
    assert judge.asked == []
    assert outcomes(stage) == ["cancelled"]


async def test_cancelling_a_run_answers_what_waits(stage: Stage) -> None:
    stage.script([{"say": "Let me"}, {"ask": permission(**COMMAND)}, {"say": "never"}])
    patient, agent = Patient(), stage.agent()
    async with agent.mcp():
        run = start_task(ask(agent, callback=patient))
        await patient.asked.get()
        pid = agent.pid
        run.cancel()
        await asyncio.wait({run})
        assert run.cancelled()
        assert outcomes(stage) == ["cancelled"]
        assert await ask(agent, "go on") == "echo: go on"
        assert agent.pid == pid
    assert stage.all("session/cancel")
    [before, _] = agent.get_serialized()
    assert before["answer"] == "Let me"


async def test_cancelled_run_withdraws_request(
    stage: Stage,
) -> None:
    stage.script([{"ask": permission(**COMMAND)}])
    queue: asyncio.Queue[Approval] = asyncio.Queue()
    callback = ApprovalContext(queue).approval_callback("system")
    run = start_task(ask(stage.agent(), callback=callback))
    request = await queue.get()
    run.cancel()
    await asyncio.wait({run})
    assert request.answer is not None
    assert not request.answer


async def test_an_error_of_the_callback_ends_the_run(stage: Stage) -> None:
    class UsedUp(Exception):
        pass

    async def refuse(_name: str, _arguments: dict[str, Any]) -> bool:
        raise UsedUp

    stage.script([{"ask": permission(**COMMAND)}, {"say": "never"}])
    agent = stage.agent()
    async with agent.mcp():
        with pytest.raises(UsedUp):
            await ask(agent, callback=refuse)
        assert await ask(agent) == "echo: go"


async def test_file_callback_error_ends_run(stage: Stage) -> None:
    async def refuse(_name: str, _arguments: dict[str, Any]) -> bool:
        raise ZeroDivisionError

    stage.script([reading(stage, "a.txt"), {"say": "never"}])
    with pytest.raises(ZeroDivisionError):
        await ask(stage.agent(files=Files(stage.workspace).access), callback=refuse)


async def test_an_error_of_emit_ends_the_run(stage: Stage) -> None:
    def emit(_text: str) -> None:
        raise ZeroDivisionError

    stage.script([{"say": "x"}])
    with pytest.raises(ZeroDivisionError):
        await ask(stage.agent(), emit=emit)


# -- files


def writing(stage: Stage, name: str, content: str) -> dict[str, Any]:
    return {"fs/write_text_file": {"path": str(stage.workspace / name), "content": content}}


def reading(stage: Stage, name: str, **more: Any) -> dict[str, Any]:
    return {"fs/read_text_file": {"path": str(stage.workspace / name), **more}}


async def test_files_are_served_only_if_there_are_any(stage: Stage) -> None:
    stage.script([reading(stage, "a.txt"), {"terminal/create": {"command": "ls"}}, {"say": "no"}])
    assert await ask(stage.agent()) == "no"
    can = (await stage.until("initialize"))["params"]["clientCapabilities"]
    assert can["fs"] == {"readTextFile": False, "writeTextFile": False}
    assert not can.get("terminal")
    assert [each["code"] for each in stage.answers] == [-32601, -32601]


async def test_a_file_is_read_after_approval(stage: Stage) -> None:
    (stage.workspace / "a.txt").write_text("one\ntwo\nthree\n")
    part = reading(stage, "a.txt", line=2, limit=1)
    stage.script([reading(stage, "a.txt"), part, reading(stage, "a.txt"), {"say": "done"}])
    judge = Judge(YES, YES, NO)
    await ask(stage.agent(files=Files(stage.workspace).access), callback=judge)
    assert judge.asked == [("read_file", {"path": "a.txt"})] * 3
    assert [each.get("content") for each in stage.answers] == ["one\ntwo\nthree\n", "two\n", None]
    assert "not today" in stage.answers[2]["message"]


async def test_a_write_is_asked_about(stage: Stage) -> None:
    stage.script([writing(stage, "a.txt", "1"), writing(stage, "b.txt", "2"), {"say": "done"}])
    judge, sink, files = Judge(YES, NO), Sink(), Files(stage.workspace)
    await ask(stage.agent(files=files.access), callback=judge, sink=sink)
    assert judge.asked[0] == ("write_file", {"path": "a.txt", "content": "1", "overwrite": True})
    assert (stage.workspace / "a.txt").read_text() == "1"
    assert not (stage.workspace / "b.txt").exists()
    assert sink.of("calling") == ["write_file"]


async def test_allowed_write_is_not_asked_again(stage: Stage) -> None:
    (stage.workspace / "a.txt").write_text("one\ntwo\n")
    edit = {"type": "diff", "path": "a.txt", "oldText": "one", "newText": "1"}
    new = {"type": "diff", "path": "b.txt", "oldText": None, "newText": "new"}
    stage.script(
        [
            {"ask": permission("t1", kind="edit", content=[edit])},
            writing(stage, "a.txt", "1\ntwo\n"),
            {"ask": permission("t2", kind="edit", content=[new])},
            writing(stage, "b.txt", "new"),
            writing(stage, "b.txt", "new"),  # once more
            {"say": "done"},
        ]
    )
    queue: asyncio.Queue[Approval] = asyncio.Queue()
    callback = ApprovalContext(queue).approval_callback("system")
    files = Files(stage.workspace)
    run = start_task(ask(stage.agent(files=files.access), callback=callback))
    requests = []
    for _ in range(3):
        requests.append(await queue.get())
        requests[-1].approve()
    assert await run == "done"
    assert [each.tool_name for each in requests] == ["edit_file", "write_file", "write_file"]
    ids = [each.id for each in requests]
    assert files.written == [("a.txt", ids[0]), ("b.txt", ids[1]), ("b.txt", ids[2])]


async def test_differing_write_is_asked_about(stage: Stage) -> None:
    new = {"type": "diff", "path": "b.txt", "oldText": None, "newText": "new"}
    ask_first = {"ask": permission(kind="edit", content=[new])}
    stage.script([ask_first, writing(stage, "b.txt", "evil"), {"say": "done"}])
    judge = Judge(YES, NO)
    await ask(stage.agent(files=Files(stage.workspace).access), callback=judge)
    assert judge.asked[1][1]["content"] == "evil"
    assert not (stage.workspace / "b.txt").exists()


@pytest.mark.parametrize("path", ["/etc/passwd", "../x.txt", ".git/config", "", "out/x"])
async def test_nothing_outside_or_hidden_is_served(stage: Stage, path: str) -> None:
    (stage.workspace / "out").symlink_to("/etc")
    read = {"fs/read_text_file": {"path": path}}
    write = {"fs/write_text_file": {"path": path, "content": "x"}}
    stage.script([read, write, {"say": "done"}])
    judge, files = Judge(), Files(stage.workspace)
    await ask(stage.agent(files=files.access), callback=judge)
    assert judge.asked == []
    assert files.written == []
    assert [each["code"] for each in stage.answers] == [-32602, -32602]


async def test_file_refusal_reaches_program(stage: Stage) -> None:
    steps = [reading(stage, "refused.txt"), reading(stage, "gone.txt"), {"say": "done"}]
    stage.script(steps)
    assert await ask(stage.agent(files=Files(stage.workspace).access)) == "done"
    refused, gone = stage.answers
    assert refused["message"] == "this file is private"
    assert "No such file" in gone["message"]


# -- updates


async def test_text_is_joined_and_parted_by_calls(stage: Stage) -> None:
    call = update("tool_call", toolCallId="t", title="Look", kind="read")
    elsewhere = {"elsewhere": {"sessionUpdate": "agent_message_chunk",
                               "content": {"type": "text", "text": "not mine"}}}  # fmt: skip
    stage.script([{"words": ["Let", " me."]}, call, elsewhere, {"words": ["It", " is."]}])
    pieces: list[str] = []
    assert await ask(stage.agent(), emit=pieces.append) == "Let me.\n\nIt is."
    assert pieces == ["Let", " me.", "\n\nIt", " is."]


async def test_what_happens_is_reported(stage: Stage) -> None:
    stage.script(
        [
            update("agent_thought_chunk", content={"type": "text", "text": "hm"}),
            update("plan", entries=[
                {"content": "Look", "priority": "high", "status": "completed"},
                {"content": "Act", "priority": "low", "status": "in_progress"},
                {"content": "Rest", "priority": "low", "status": "pending"},
            ]),
            update("tool_call", toolCallId="t", title="Read the notes", kind="read",
                   status="in_progress", rawInput={"path": "notes.txt"},
                   locations=[{"path": "notes.txt", "line": 3}]),
            update("tool_call_update", toolCallId="t", status="completed"),
            update("unheard_of", thing=1),
            update("available_commands_update", availableCommands=[]),
            update("agent_message_chunk", content={"type": "image", "data": "", "mimeType": "image/png"}),
            {"say": "done"},
        ]
    )  # fmt: skip
    sink = Sink()
    assert await ask(stage.agent(), sink=sink) == "done"
    whats = [what for what, _ in sink.done]
    assert whats[:3] == ["asking", "asking", "thinking"]
    assert "plan: ✓ Look; ▸ Act; · Rest" in sink.of("note")
    assert sink.of("calling") == ["read_file"]
    assert whats[whats.index("calling") :].count("asking") == 1  # the call has ended
    assert "read_file: Read the notes (notes.txt)" in sink.of("detail")
    assert "sent image, which can't be shown here" in sink.of("note")
    assert not any("on its own" in each for each in sink.of("note"))


async def test_calls_without_permission_are_told_once(stage: Stage) -> None:
    def made(number: str, **more: Any) -> list[dict[str, Any]]:
        start = update("tool_call", toolCallId=number, title="T", status="in_progress", **more)
        return [start, update("tool_call_update", toolCallId=number, status="completed")]

    first = made("1", kind="execute", rawInput={"command": "rm x"})
    second = made("2", kind="delete")
    stage.script([*made("0", kind="read"), *first, *second, {"say": "done"}])
    sink = Sink()
    await ask(stage.agent(), sink=sink)
    own = [each for each in sink.of("note") if "on its own" in each]
    assert own == ["acts on its own: run_command"]


async def test_late_asked_call_is_not_autonomous(stage: Stage) -> None:
    start = update("tool_call", toolCallId="t1", status="in_progress", **COMMAND)
    end = update("tool_call_update", toolCallId="t1", status="completed")
    stage.script([start, {"ask": permission("t1")}, end, {"say": "done"}])
    sink, judge = Sink(), Judge()
    await ask(stage.agent(), sink=sink, callback=judge)
    assert judge.asked == [("run_command", {"command": "ls"})]
    assert not any("on its own" in each for each in sink.of("note"))


async def test_served_write_is_not_autonomous(stage: Stage) -> None:
    start = update("tool_call", toolCallId="t1", title="W", kind="edit", status="in_progress",
                   locations=[{"path": str(stage.workspace / "a.txt")}])  # fmt: skip
    end = update("tool_call_update", toolCallId="t1", status="completed")
    stage.script([start, writing(stage, "a.txt", "x"), end, {"say": "done"}])
    sink = Sink()
    await ask(stage.agent(files=Files(stage.workspace).access), sink=sink)
    assert not any("on its own" in each for each in sink.of("note"))


async def test_call_running_at_end_is_autonomous(stage: Stage) -> None:
    start = update("tool_call", toolCallId="t1", status="in_progress", **COMMAND)
    stage.script([start, {"say": "done"}])
    sink = Sink()
    await ask(stage.agent(), sink=sink)
    assert "acts on its own: run_command" in sink.of("note")


async def test_reports_go_to_the_run_they_belong_to(stage: Stage) -> None:
    thought = update("agent_thought_chunk", content={"type": "text", "text": "hm"})
    stage.script([thought, {"say": "1"}], [thought, {"ask": permission(**COMMAND)}, {"say": "2"}])
    agent, first, second = stage.agent(), Sink(), Sink()
    assert isinstance(agent, DefaultAgent)
    async with agent.mcp():
        await ask(agent, sink=first)
        count = len(first.done)
        await ask(agent, sink=second)
    assert len(first.done) == count
    assert "thinking" in [what for what, _ in second.done]
    assert second.of("calling") == ["run_command"]
