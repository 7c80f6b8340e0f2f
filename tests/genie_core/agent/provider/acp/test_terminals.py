"""Commands that a program has us run in terminals."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from acp.schema import CreateTerminalRequest
from tests.genie_core.agent.provider.acp.rig import (
    Judge,
    Patient,
    Sink,
    Stage,
    ask,
    permission,
    tool_call,
)
from tests.limits import scaled

from genie_core.agent import Verdict
from genie_core.agent.provider.acp.terminals import MOST_TERMINALS, Terminal, command_of
from genie_core.runtime.tasks import start_task

Listen = Callable[[bytes], None]


class Machine:
    """Runs commands in name only: each says what it is called with and ends when it is let."""

    def __init__(self, *, lets: bool = True) -> None:
        self.ran: list[Mapping[str, Any]] = []
        self.ended = 0
        self.begun = asyncio.Event()
        self._let = asyncio.Event()
        if lets:
            self._let.set()

    async def __call__(
        self, arguments: Mapping[str, Any], listen: Listen
    ) -> tuple[int | None, str]:
        if arguments["command"] == "refused":
            raise ValueError("there is no such thing")
        self.ran.append(arguments)
        listen(f"ran {arguments['command']}\n".encode())
        self.begun.set()
        try:
            await self._let.wait()
        finally:
            self.ended += 1
        return 3, ""

    async def all_ended(self) -> None:
        async with asyncio.timeout(scaled(10)):
            while self.ended < len(self.ran):
                await asyncio.sleep(0)


def create(command: str, *args: str, **more: Any) -> dict[str, Any]:
    return {"terminal/create": {"command": command, "args": list(args), **more}}


def on(what: str, number: int = 1) -> dict[str, Any]:
    return {f"terminal/{what}": {"terminalId": f"terminal-{number}"}}


DONE = {"say": "done"}
ENDED = {"exitCode": 3, "signal": None}


async def test_allowed_command_returns_output(stage: Stage) -> None:
    stage.script(
        [create("ls", "-l", "a b"), on("wait_for_exit"), on("output"), on("release"), DONE]
    )
    machine, judge, sink = Machine(), Judge(), Sink()
    assert await ask(stage.agent(commands=machine), callback=judge, sink=sink) == "done"
    (initialized,) = stage.all("initialize")
    assert initialized["params"]["clientCapabilities"]["terminal"] is True
    assert judge.asked == [("run_command", {"command": "ls -l 'a b'"})]
    assert machine.ran == [{"command": "ls -l 'a b'"}]
    created, ended, output, released = stage.answers
    assert created == {"terminalId": "terminal-1"}
    assert ended == {"exitCode": 3}
    assert (output["output"], output["truncated"]) == ("ran ls -l 'a b'\n", False)
    assert output["exitStatus"] == {"exitCode": 3}
    assert released == {}
    assert not any("acts on its own" in each for each in sink.of("note"))


async def test_a_denied_command_is_not_run(stage: Stage) -> None:
    stage.script([create("rm", "-r", "."), on("output"), DONE])
    machine = Machine()
    denied = Judge(Verdict(approved=False, reason="not today"))
    assert await ask(stage.agent(commands=machine), callback=denied) == "done"
    assert machine.ran == []
    refused, unknown = stage.answers
    assert "not today" in refused["message"]
    assert unknown["code"] == -32602


async def test_permission_covers_equal_command(stage: Stage) -> None:
    command = {"command": ["npm", "test"], "cwd": str(stage.workspace)}
    asked = permission(kind="execute", title="Run", rawInput=command)
    again = create("npm", "test", cwd=str(stage.workspace))
    stage.script([{"ask": asked}, create("npm", "tests"), again, again, DONE])
    judge = Judge()
    await ask(stage.agent(commands=Machine()), callback=judge)
    assert [arguments["command"] for _, arguments in judge.asked] == [
        "npm test",
        "npm tests",
        "npm test",
    ]


@pytest.mark.parametrize("twice", [True, False])
async def test_a_terminal_of_ours_stands_for_one_call(stage: Stage, *, twice: bool) -> None:
    def shows(call: str, *terminals: str) -> dict[str, Any]:
        content = [{"type": "terminal", "terminalId": each} for each in terminals]
        more = {"kind": "execute", "title": "x", "status": "completed", "content": content}
        return {"update": {"sessionUpdate": "tool_call", **tool_call(call, **more)}}

    once = [create("ls"), shows("t1", "terminal-1"), shows("t1", "terminal-1")]
    again = shows("t2", "terminal-1") if twice else shows("t2", "terminal-1", "other")
    stage.script([*once, DONE], [create("ls"), shows("t1", "terminal-1"), again, DONE])
    agent = stage.agent(commands=Machine())
    async with agent.mcp():
        first, second = Sink(), Sink()
        await ask(agent, sink=first)
        await ask(agent, sink=second)
    assert not any("acts on its own" in each for each in first.of("note"))
    assert any("acts on its own" in each for each in second.of("note"))


async def test_only_owner_sees_last_output_line(stage: Stage) -> None:
    def ends(number: str, **content: Any) -> dict[str, Any]:
        more = {"kind": "execute", "title": "x", "status": "completed", "content": [content]}
        return {"update": {"sessionUpdate": "tool_call", **tool_call(number, **more)}}

    text = {"type": "text", "text": "first\nlast \x1b[31m\n\n"}
    told = ends("t1", type="content", content=text)
    stage.script([create("ls"), ends("t2", type="terminal", terminalId="terminal-1"), told, DONE])
    sink = Sink()
    await ask(stage.agent(commands=Machine()), sink=sink)
    ended = [each for each in sink.of("detail") if "ended with" in each]
    assert ended == ["acp_execute ended with: ran ls", "acp_execute ended with: last \x1b[31m"]
    assert not any("ran ls" in each for each in sink.of("note"))  # what the others see


async def test_killed_command_keeps_output(stage: Stage) -> None:
    stage.script([create("serve"), on("kill"), on("wait_for_exit"), on("output"), DONE])
    machine = Machine(lets=False)
    await ask(stage.agent(commands=machine))
    _, killed, ended, output = stage.answers
    assert killed == {}
    assert ended == {"signal": "SIGKILL"}
    assert output["exitStatus"] == {"signal": "SIGKILL"}
    assert machine.ended == len(machine.ran)


@pytest.mark.parametrize("what", ["output", "wait_for_exit", "kill", "release"])
async def test_unknown_or_released_is_error(stage: Stage, what: str) -> None:
    stage.script([create("ls"), on("release"), on(what), on(what, 7), DONE])
    await ask(stage.agent(commands=Machine()))
    assert [each["code"] for each in stage.answers[2:]] == [-32602, -32602]


async def test_what_can_not_be_started_says_why(stage: Stage) -> None:
    stage.script([create("refused"), on("wait_for_exit"), on("output"), DONE])
    sink = Sink()
    await ask(stage.agent(commands=Machine()), sink=sink)
    assert stage.answers[1] == {"exitCode": 127}
    assert stage.answers[2]["output"] == "there is no such thing\n"


async def test_commands_end_with_the_run(stage: Stage) -> None:
    stage.script([create("serve"), DONE], [create("serve"), on("wait_for_exit"), DONE])
    machine = Machine(lets=False)
    agent = stage.agent(commands=machine)
    async with agent.mcp():
        await ask(agent)
        await machine.all_ended()
        machine.begun.clear()
        run = start_task(ask(agent))
        await machine.begun.wait()
        run.cancel()
        await asyncio.wait({run})
        assert run.cancelled()
        await machine.all_ended()
        assert len(machine.ran) == 2


async def test_cancel_while_asked_runs_nothing(stage: Stage) -> None:
    stage.script([create("ls"), DONE])
    machine, patient = Machine(), Patient()
    run = start_task(ask(stage.agent(commands=machine), callback=patient))
    await patient.asked.get()
    run.cancel()
    await asyncio.wait({run})
    assert machine.ran == []


async def test_open_terminals_are_limited(stage: Stage) -> None:
    stage.script([*[create("ls")] * (MOST_TERMINALS + 1), on("release"), create("ls"), DONE])
    await ask(stage.agent(commands=Machine()))
    *_, refused, released, last = stage.answers
    assert "release some first" in refused["message"]
    assert (released, last) == ({}, {"terminalId": f"terminal-{MOST_TERMINALS + 1}"})


@pytest.mark.parametrize(
    ("limit", "pieces", "output", "truncated"),
    [
        (None, [b"one\n", b"two"], "one\ntwo", False),
        (4, ["äöü".encode()], "öü", True),
        (3, ["äöü".encode()], "ü", True),
        (0, [b"one"], "", True),
        (-1, [b"one"], "", True),
        (None, ["ä".encode()[:1]], "", False),
        (None, [b"a\xffb"], "a\ufffdb", False),
    ],
)
async def test_output_keeps_whole_characters(
    limit: int | None, pieces: list[bytes], output: str, truncated: bool
) -> None:
    terminal = Terminal(limit)
    for each in pieces:
        terminal.feed(each)
    assert (terminal.output.output, terminal.output.truncated) == (output, truncated)


@pytest.mark.parametrize(
    ("command", "args", "env", "arguments"),
    [
        ("ls", ["-l"], {}, {"command": "ls -l"}),
        ("ls | wc", [], {}, {"command": "ls | wc", "shell": True}),
        ("ls", ["|", "wc"], {}, {"command": "ls '|' wc"}),
        ("sh", ["-c", "ls | wc"], {}, {"command": "ls | wc", "shell": True}),
        ("make", ["x"], {"LD_PRELOAD": "/evil.so"}, {"command": "env LD_PRELOAD=/evil.so make x"}),
        ("a; b", [], {"A": "1 2"}, {"command": "env 'A=1 2' /bin/sh -c 'a; b'"}),
    ],
)
def test_the_call_says_all_that_is_run(
    command: str, args: list[str], env: dict[str, str], arguments: dict[str, Any], tmp_path: Any
) -> None:
    variables = [{"name": name, "value": value} for name, value in env.items()]
    request = CreateTerminalRequest.model_validate(
        {"sessionId": "s", "command": command, "args": args, "env": variables}
    )
    assert command_of(request, str(tmp_path)).arguments == arguments


@pytest.mark.parametrize("more", [{"cwd": "/etc"}, {"env": [{"name": "-S sh", "value": ""}]}])
def test_what_the_card_could_not_show_is_refused(more: dict[str, Any], tmp_path: Any) -> None:
    request = CreateTerminalRequest.model_validate({"sessionId": "s", "command": "ls", **more})
    with pytest.raises(ValueError, match=r"outside|name"):
        command_of(request, str(tmp_path))
