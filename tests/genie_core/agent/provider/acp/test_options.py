"""Modes, options and commands of a program, as its owner sees and chooses them."""

from typing import Any

import pytest
from tests.genie_core.agent.provider.acp.rig import Sink, Stage, ask

from genie_core.agent.provider.acp import DefaultAgent
from genie_core.runtime.agent_options import MODE, MODEL, AgentOptions, of_category, owner_command


def select(id_: str, category: str, *values: str) -> dict[str, Any]:
    offered = [{"value": each, "name": each.title()} for each in values]
    about = {"id": id_, "name": id_.title(), "category": category, "type": "select"}
    return {**about, "currentValue": values[0], "options": offered}


def modes(current: str, *more: str) -> dict[str, Any]:
    offered = [{"id": each, "name": each.title()} for each in (current, *more)]
    return {"currentModeId": current, "availableModes": offered}


def values(options: AgentOptions) -> dict[str, str]:
    return {each.id: each.value for each in options.known}


COMMANDS = [{"name": "review", "description": "Review\nthe changes"}]


async def test_open_session_reveals_options(stage: Stage) -> None:
    grouped = select("size", MODEL, "small", "big")
    grouped["options"] = [{"group": "g", "name": "G", "options": grouped["options"]}]
    loud = {"id": "loud", "name": "Loud", "type": "boolean", "currentValue": True}
    stage.script(modes=modes("ask", "yolo"), config=[grouped, loud], commands=COMMANDS)
    options = AgentOptions()
    assert await ask(stage.agent(options=options)) == "echo: go"
    assert values(options) == {"size": "small", "loud": "on", "mode": "ask"}
    model = of_category(options.known, MODEL)
    assert model is not None
    assert [each.value for each in model.choices] == ["small", "big"]
    assert [(each.name, each.about) for each in options.commands] == [
        ("review", "Review the changes")
    ]


async def test_choice_applies_to_later_sessions(
    stage: Stage,
) -> None:
    config = [select("size", MODEL, "small", "big"), select("way", MODE, "plan", "act")]
    loud = {"id": "loud", "name": "Loud", "type": "boolean", "currentValue": True}
    stage.script(config=[*config, loud])
    options = AgentOptions()
    agent = stage.agent(options=options)
    async with agent.mcp():
        await ask(agent)
        options.choose("size", "big")
        options.choose("loud", "off")
        assert [each.value for each in options.options] == ["big", "plan", "off"]
        await ask(agent)
        await ask(agent)
        set_to = [each["params"] for each in stage.all("session/set_config_option")]
        assert [(each["configId"], each["value"]) for each in set_to] == [
            ("size", "big"),
            ("loud", False),
        ]
    assert values(options) == {"size": "big", "way": "plan", "loud": "off"}
    await ask(agent)  # another process, which knows nothing of it
    assert len(stage.all("session/set_config_option")) == 4


async def test_chosen_mode_is_not_reset(stage: Stage) -> None:
    stage.script(modes=modes("yolo", "ask", "plan"))
    options = AgentOptions()
    program = stage.program(modes=("ask",))
    agent = DefaultAgent(program, stage.workspace, options=options)
    await ask(agent)
    options.choose(MODE, "plan")
    await ask(agent)
    set_to = [each["params"]["modeId"] for each in stage.all("session/set_mode")]
    assert set_to == ["ask", "plan"]
    assert options.known[0].asking == ("ask",)


async def test_option_mode_is_made_to_ask(stage: Stage) -> None:
    stage.script(config=[select("way", MODE, "yolo", "ask")])
    options = AgentOptions()
    agent = DefaultAgent(stage.program(modes=("ask",)), stage.workspace, options=options)
    await ask(agent)
    assert values(options) == {"way": "ask"}


async def test_refused_choice_is_not_retried(stage: Stage) -> None:
    stage.script(modes=modes("ask", "plan"), mode_error={"code": -32603, "message": "not today"})
    options, sink = AgentOptions(), Sink()
    agent = stage.agent(options=options)
    async with agent.mcp():
        await ask(agent)
        options.choose(MODE, "plan")
        await ask(agent, sink=sink)
        await ask(agent)
    assert len(stage.all("session/set_mode")) == 1
    assert any("refused plan" in each for each in sink.of("note"))
    assert [each.value for each in options.options] == ["ask"]


@pytest.mark.parametrize("twice", [False, True])
async def test_mode_changed_by_program_is_known(stage: Stage, *, twice: bool) -> None:
    update = {"sessionUpdate": "current_mode_update", "currentModeId": "act"}
    config = [select(MODE, MODE, "plan", "act")] if twice else []
    stage.script([{"update": update}, {"say": "done"}], modes=modes("plan", "act"), config=config)
    options = AgentOptions()
    assert await ask(stage.agent(options=options)) == "done"
    assert values(options) == {MODE: "act"}


@pytest.mark.parametrize(
    ("said", "sent"),
    [
        ("/review the diff", ["/review the diff"]),
        ("/review", ["/review"]),
        ("/reviewer", ["go"]),
        ("/", ["go"]),
        ("", ["go"]),
    ],
)
async def test_only_owner_command_is_verbatim(stage: Stage, said: str, sent: list[str]) -> None:
    stage.script(commands=COMMANDS)
    agent = stage.agent(options=AgentOptions())
    async with agent.mcp():
        await ask(agent)
        token = owner_command.set(said)
        try:
            await ask(agent)
        finally:
            owner_command.reset(token)
    assert stage.requests[-1].texts[2:] == sent  # after the first prompt and its answer


async def test_no_other_request_is_a_command(stage: Stage) -> None:
    stage.script(commands=COMMANDS)
    directed = stage.agent()  # without options: it is directed by another agent
    token = owner_command.set("/review")
    try:
        await ask(directed, " /review everything")
    finally:
        owner_command.reset(token)
    assert stage.requests[-1].texts == ["Request:  /review everything"]


async def test_options_beyond_all_measure_are_cut(stage: Stage) -> None:
    many = [select(f"o{number}", "x", "y" * 500) for number in range(99)]
    odd = [{"name": each, "description": ""} for each in ("n" * 999, "", "x\x1b[31m")]
    long = [*odd, {"name": "ok", "description": "d" * 9_999}]
    stage.script(config=many, commands=long)
    options = AgentOptions()
    await ask(stage.agent(options=options))
    assert len(options.known) == 50
    assert [each.name for each in options.commands] == ["ok"]
    assert len(options.commands[0].about) == 120
