"""Prompts of tool servers as slash commands."""

import pytest
from tests.genie_tui.scripted_bench import ScriptedBench
from tests.genie_tui.scripted_room import HandClock, ScriptedJoinedRoom, in_room, until
from textual.widgets import Static

from genie_core.room.commands.arguments import PromptLine
from genie_core.room.commands.table import parse_line
from genie_core.room.engine.controls import PromptInfo
from genie_core.room.protocol.events import MessagePosted
from genie_core.room.state.reading import Reading
from genie_core.room.state.thread import MessageThread, Phase
from genie_tui.commands.completion import prompt_completions, prompt_help
from genie_tui.screens.dialogs.confirm import ConfirmScreen
from genie_tui.widgets.composer.completion import Completions, offer
from genie_tui.widgets.composer.composer import Composer

REVIEW = PromptInfo("toy", "review", "Review\x1b code.", "CODE [STYLE]")


def bench() -> ScriptedBench:
    return ScriptedBench(prompts=[REVIEW], texts={"review": ["Look at\x1b[31m this.", "Be short."]})


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        ("/toy:review", PromptLine("toy", "review")),
        ("/toy:Re:view a 'b c' x=1", PromptLine("toy", "Re:view", ("a", "b c", "x=1"))),
        ("/toy:review it's", PromptLine("toy", "review", ("it's",))),
    ],
)
def test_a_command_with_a_colon_is_a_prompt(typed: str, line: PromptLine) -> None:
    assert parse_line(typed) == line


@pytest.mark.parametrize("typed", ["/toy:", "/:review", "/toy"])
def test_half_of_it_is_none(typed: str) -> None:
    assert not isinstance(parse_line(typed), PromptLine)


async def test_resources_complete_like_names() -> None:
    joined = ScriptedJoinedRoom()
    joined.open_room()
    joined.workbench = ScriptedBench(resources=["toy:note://one"])
    async with in_room(joined) as (screen, _):
        completions = screen.query_one(Composer).candidates()
        found = offer("read @toy:no", completions)
        assert found is not None
        assert [each.text for each in found.choices] == ["@toy:note://one"]


def test_prompts_complete_like_commands() -> None:
    words = prompt_completions(bench())
    for before in ("/to", "/toy:", "/toy:re", "/rev"):
        found = offer(before, Completions(commands=words))
        assert found is not None
        assert [(each.text, each.detail) for each in found.choices] == [
            ("/toy:review", "CODE [STYLE] · Review\x1b code.")
        ]
    assert offer("look /toy:re", Completions(commands=words)) is None
    assert prompt_completions(None) == []


@pytest.mark.parametrize("agrees", [True, False])
async def test_prompt_is_shown_before_sending(*, agrees: bool) -> None:
    joined = ScriptedJoinedRoom()
    joined.open_room()
    joined.workbench = made = bench()
    clock = HandClock()
    async with in_room(joined, (90, 36), clock) as (screen, pilot):
        assert prompt_help(screen.context) == [("/toy:review CODE [STYLE]", "Review␛ code.")]
        screen.query_one(Composer).post_message(Composer.Submitted("/toy:review main.py"))
        await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))
        shown = str(pilot.app.screen.query_one("#confirm-text", Static).render())
        assert "  @genie Look at␛[31m this.\n  \n  Be short." in shown
        assert made.used == [("toy", "review", "main.py")]
        assert joined.sent == []
        clock.rest()
        await pilot.press("enter" if agrees else "escape")
        await until(pilot, lambda: pilot.app.screen is screen)
        await until(pilot, lambda: len(joined.sent) == agrees)
        if not agrees:
            return
        ((_, quotes),) = joined.sent
        said = MessagePosted("m", "text", quotes=tuple(quotes))
        reading = Reading()
        reading.add_message(MessageThread(1, 0.0, joined.name, said, Phase.DECIDING))
        assert list(reading.sources) == ["the prompt toy:review"]


async def test_unsent_prompt_returns_draft() -> None:
    joined = ScriptedJoinedRoom()
    joined.open_room()
    joined.workbench = bench()
    async with in_room(joined) as (screen, pilot):
        composer = screen.query_one(Composer)
        composer.post_message(Composer.Submitted("/toy:other x"))
        await until(pilot, lambda: composer.draft == "/toy:other x")
        said = [str(each.message) for each in pilot.app._notifications]
        assert "the tool server 'toy' has no prompt 'other'" in said
