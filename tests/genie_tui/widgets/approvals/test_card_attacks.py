"""What a person allows on a card is what the card has shown, and typing allows nothing."""

import string
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from tests.genie_tui.conftest import SHORTLY
from tests.genie_tui.room_parts import answer, card, editor, text_of
from tests.genie_tui.scripted_room import HandClock, ScriptedJoinedRoom, in_room, until
from textual.pilot import Pilot

from genie_core.room.client.model import Answer
from genie_core.room.engine.tool_effects import ToolEffect, ToolEffects
from genie_core.room.protocol.events import ApprovalRequested, DecisionMade
from genie_tui.screens.room import RoomScreen
from genie_tui.widgets.approvals.call_text import arguments_content, diff_content
from genie_tui.widgets.approvals.card import ApprovalCard

SMALL, USUAL, WIDE, HUGE = (60, 16), (80, 24), (120, 36), (200, 60)


async def go_to_card(screen: RoomScreen, pilot: Pilot[Any], clock: HandClock) -> None:
    await pilot.press("ctrl+g")
    await until(pilot, lambda: card(screen).has_focus)
    await pilot.pause()
    await pilot.pause()
    clock.rest()


async def press_alone(pilot: Pilot[Any], clock: HandClock, key: str) -> None:
    """Press a key, and let the keyboard rest long enough for it to count."""
    await pilot.press(key)
    await pilot.pause(2 * SHORTLY)
    clock.rest()


def shows(screen: RoomScreen, text: str) -> bool:
    return text in text_of(screen, "#card-keys")


def ask_to_run(joined: ScriptedJoinedRoom, command: str, **more: Any) -> str:
    approval = joined.ask("run_command", command=command, **more)
    joined.effects[approval] = ToolEffects((ToolEffect("run", command),), pattern="git log*")
    return approval


def ask_to_write(joined: ScriptedJoinedRoom, lines: int) -> str:
    content = "".join(f"line {number}\n" for number in range(lines))
    approval = joined.ask("write_file", path="a.txt", content=content)
    diff = "\n".join(["--- a.txt", "+++ a.txt", *(f"+line {number}" for number in range(lines))])
    joined.effects[approval] = ToolEffects((ToolEffect("write", "a.txt"),), diff=diff)
    return approval


@pytest.mark.parametrize("size", [SMALL, USUAL, WIDE, HUGE])
async def test_long_change_needs_reading_to_end(
    joined: ScriptedJoinedRoom, size: tuple[int, int]
) -> None:
    clock = HandClock()
    approval = ask_to_write(joined, 1_500)
    async with in_room(joined, size, clock) as (screen, pilot):
        await go_to_card(screen, pilot, clock)
        for key in "aswt":
            await answer(pilot, clock, key)
            await pilot.pause(2 * SHORTLY)
            assert not shows(screen, "enter allows it")
            await pilot.press("escape")
        assert joined.answers == []
        await until(pilot, lambda: "scroll to the end" in text_of(screen, "#card-keys"))
        card(screen).query_one("#card-scroll").scroll_end(animate=False)
        await until(pilot, lambda: "same call" in text_of(screen, "#card-keys"))
        await answer(pilot, clock, "a")
        await until(pilot, lambda: joined.answers == [(approval, Answer(allow=True))])


@pytest.mark.parametrize("size", [SMALL, USUAL, WIDE, HUGE])
async def test_tool_machine_and_effect_are_shown(
    joined: ScriptedJoinedRoom, size: tuple[int, int]
) -> None:
    clock = HandClock()
    message = joined.say_here("x" * 4_000, author="bob")
    path = "system/" + "/".join(f"an-agent-with-a-long-name:{number:04}" for number in range(9))
    arguments = {"command": "ls -l"}
    joined.feed(
        DecisionMade(message, "delegate"),
        ApprovalRequested(message, "p", path, "run_command", arguments, "ann's machine (vm)"),
    )
    joined.effects["p"] = ToolEffects((ToolEffect("run", "ls -l"),))
    async with in_room(joined, size, clock) as (screen, pilot):
        await go_to_card(screen, pilot, clock)
        shown = text_of(screen, "#card-call")
        assert all(part in shown for part in ("bob", " … ", "run_command", "on ann's machine (vm)"))
        for selector in ("#card-call", "#card-effect"):
            part = screen.query_one(selector)
            assert part.size.height > 0
            assert screen.region.contains_region(part.region)
        assert card(screen).region.width == screen.region.width


@pytest.mark.parametrize(
    "gap",
    ["\n" * 70, " " * 4_000, "\r\n" * 70, "\t" * 500, "\u00a0" * 4_000, "\u3000 \u2800" * 900],
)
async def test_no_gap_hides_the_rest_of_a_command(joined: ScriptedJoinedRoom, gap: str) -> None:
    clock = HandClock()
    ask_to_run(joined, f"echo hi{gap}id")
    async with in_room(joined, SMALL, clock) as (screen, pilot):
        await go_to_card(screen, pilot, clock)
        shown = text_of(screen, "#card-effect")
        assert shown.index("id") < 200
        assert any(sign in shown for sign in ("⏎", "·"))


@pytest.mark.parametrize("blank", [" ", "\t", "\u2003", "\u3000"])
def test_no_gap_hides_the_rest_of_a_line(blank: str) -> None:
    line = f"first{blank * 900}last"
    for shown in (diff_content(f"--- a\n+++ a\n+{line}"), arguments_content({"x": f"{line}\n"})):
        assert "last" in shown.plain
        assert len(shown.plain) < 100
    indented = f"{' ' * 24}return 1"
    assert f"+{indented}" in diff_content(f"--- a\n+++ a\n+{indented}").plain


async def test_every_key_held_down_allows_nothing(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    ask_to_run(joined, "git log")
    joined.ask("one")
    async with in_room(joined, USUAL, clock) as (screen, pilot):
        await go_to_card(screen, pilot, clock)
        for key in [*string.ascii_letters, "enter", "space", *string.digits]:
            for _ in range(2):
                await pilot.press(key)
                clock.rest(0.03)
            if not card(screen).has_focus:
                await go_to_card(screen, pilot, clock)
        await pilot.press("escape")
        await pilot.pause()
        assert joined.answers == []


async def test_a_program_needs_a_second_key(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    message = joined.say_here("run it")
    joined.feed(
        DecisionMade(message, "delegate"),
        ApprovalRequested(message, "p", "system", "run_command", {"command": "ls"}, risk="execute"),
    )
    async with in_room(joined, USUAL, clock) as (screen, pilot):
        await go_to_card(screen, pilot, clock)
        await press_alone(pilot, clock, "a")
        assert joined.answers == []
        assert "allow run_command: command ls, this time only?" in text_of(screen, "#card-keys")
        await press_alone(pilot, clock, "escape")
        await press_alone(pilot, clock, "enter")
        assert joined.answers == []
        await press_alone(pilot, clock, "a")
        await press_alone(pilot, clock, "enter")
        assert joined.answers == [("p", Answer(allow=True))]
        await until(pilot, lambda: editor(screen).has_focus)


@pytest.mark.parametrize(
    ("key", "answer", "words"),
    [
        ("a", Answer(allow=True), "allow rm: x 1, this time only?"),
        (
            "s",
            Answer(allow=True, scope="session"),
            "let genie repeat exactly this call of rm (x 1) for bob's messages, until the session ends?",
        ),
        (
            "w",
            Answer(allow=True, scope="session", covers="*"),
            "let genie use rm with any arguments for bob's messages, until",
        ),
    ],
)
async def test_guest_request_needs_second_key(
    joined: ScriptedJoinedRoom, key: str, answer: Answer, words: str
) -> None:
    clock = HandClock()
    message = joined.say_here("tidy up", author="bob")
    joined.feed(
        DecisionMade(message, "delegate"), ApprovalRequested(message, "p", "system", "rm", {"x": 1})
    )
    async with in_room(joined, USUAL, clock) as (screen, pilot):
        await go_to_card(screen, pilot, clock)
        await press_alone(pilot, clock, key)
        assert joined.answers == []
        assert words in text_of(screen, "#card-keys").replace("\n", " ")
        await press_alone(pilot, clock, "enter")
        assert joined.answers == [("p", answer)]


async def test_a_pattern_is_edited_before_it_counts(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    approval = ask_to_run(joined, "git log -3")
    async with in_room(joined, USUAL, clock) as (screen, pilot):
        await go_to_card(screen, pilot, clock)
        await answer(pilot, clock, "l")
        line = screen.query_one("#card-reason")
        await until(pilot, lambda: line.has_focus and line.value == "git log*")  # type: ignore[attr-defined] # an Input
        await pilot.press("enter", "enter")  # it is held down
        await pilot.press("ctrl+u", "enter")
        await until(pilot, lambda: "type a pattern" in text_of(screen, "#card-keys"))
        await pilot.press(*"rm *")
        await until(pilot, lambda: "rm * does not match" in text_of(screen, "#card-keys"))
        await press_alone(pilot, clock, "enter")
        assert joined.answers == []
        await pilot.press("ctrl+u", *"git log")
        await until(
            pilot,
            lambda: "run_command (git log) for your messages" in text_of(screen, "#card-keys"),
        )
        clock.rest()
        await pilot.press("enter")
        expected = [(approval, Answer(allow=True, scope="session", covers="git log"))]
        await until(pilot, lambda: joined.answers == expected)


async def test_late_effects_are_shown_first(
    joined: ScriptedJoinedRoom,
) -> None:
    clock = HandClock()
    message = joined.say_here("tidy up")
    joined.feed(
        DecisionMade(message, "delegate"),
        ApprovalRequested(message, "p", "system", "write_file", {"path": "a.txt"}, risk="write"),
    )
    async with in_room(joined, SMALL, clock) as (screen, pilot):
        await go_to_card(screen, pilot, clock)
        assert "one\n" not in text_of(screen, "#card-effect")
        diff = "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n" + "+one\n" * 200
        joined.effects["p"] = ToolEffects((ToolEffect("write", "a.txt"),), diff=diff)
        card(screen).post_message(ApprovalCard.Stepped(0, by_person=False))
        await until(pilot, lambda: "+one" in text_of(screen, "#card-effect"))
        clock.rest()
        await until(pilot, lambda: "scroll to the end" in text_of(screen, "#card-keys"))
        await press_alone(pilot, clock, "a")
        await press_alone(pilot, clock, "enter")
        assert joined.answers == []


async def test_non_grantable_call_offers_once(
    joined: ScriptedJoinedRoom,
) -> None:
    clock = HandClock()
    approval = ask_to_run(joined, "git log -3")
    effects = joined.effects[approval]
    joined.effects[approval] = replace(effects, is_grantable=False)
    async with in_room(joined, USUAL, clock) as (screen, pilot):
        await go_to_card(screen, pilot, clock)
        await until(pilot, lambda: "a once" in text_of(screen, "#card-keys"))
        shown = text_of(screen, "#card-keys")
        assert "always asked about" in shown
        assert not any(words in shown for words in ("same call", "git log", "w tool"))
        for key in "slwt":
            await press_alone(pilot, clock, key)
            said = f"{key} does nothing: always asked about, so only this one call can be allowed"
            await until(pilot, partial(shows, screen, said))
        assert joined.answers == []
        clock.rest()
        await until(pilot, lambda: "a once" in text_of(screen, "#card-keys"))
        assert "t does nothing" in text_of(screen, "#card-keys")
        assert not card(screen).has_class("-writing")


async def test_refusal_limits_grant_and_says_why(
    joined: ScriptedJoinedRoom,
) -> None:
    clock = HandClock()
    approval = ask_to_run(joined, "git log -3")
    effects = joined.effects[approval]
    joined.effects[approval] = replace(effects, is_grantable=False, refusal="no such folder")
    async with in_room(joined, USUAL, clock) as (screen, pilot):
        await go_to_card(screen, pilot, clock)
        await press_alone(pilot, clock, "s")
        said = "s does nothing: the tool will refuse this call"
        await until(pilot, lambda: said in text_of(screen, "#card-keys"))
        await press_alone(pilot, clock, "v")
        await until(pilot, lambda: screen.app.screen is not screen)
        await pilot.press("escape")
        clock.rest()
        await until(pilot, lambda: "a once" in text_of(screen, "#card-keys"))
        assert "does nothing" not in text_of(screen, "#card-keys")


async def test_without_a_pattern_its_key_says_so(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    approval = ask_to_run(joined, "git log -3")
    joined.effects[approval] = replace(joined.effects[approval], pattern="")
    async with in_room(joined, USUAL, clock) as (screen, pilot):
        await go_to_card(screen, pilot, clock)
        await press_alone(pilot, clock, "l")
        said = "l does nothing: there is no pattern for this call"
        await until(pilot, lambda: said in text_of(screen, "#card-keys"))
        assert not card(screen).has_class("-writing")


async def test_a_small_card_is_scrolled_to_its_end(joined: ScriptedJoinedRoom) -> None:
    """The keys are one line while they don't count; the text above them must not jump back."""
    clock = HandClock()
    approval = ask_to_run(joined, "cat prod.env")
    effects = joined.effects[approval]
    known = (*effects.known, *(ToolEffect("read", f"{number}.env") for number in range(8)))
    joined.effects[approval] = replace(effects, known=known)
    async with in_room(joined, SMALL, clock) as (screen, pilot):
        await go_to_card(screen, pilot, clock)
        await until(pilot, lambda: "same call" in text_of(screen, "#card-keys"))
        area = screen.query_one("#card-scroll")
        await until(pilot, lambda: area.max_scroll_y >= 3)
        await pilot.press("down", "down", "down")
        await until(pilot, lambda: area.scroll_y == 3)
        while area.scroll_y < area.max_scroll_y:
            await pilot.press("pagedown")
            await pilot.pause()
        clock.rest()
        await until(pilot, lambda: "same call" in text_of(screen, "#card-keys"))
        assert area.scroll_y >= 3


async def test_keys_for_shell_answer_nothing(
    joined: ScriptedJoinedRoom,
) -> None:
    clock = HandClock()
    ask_to_run(joined, "git log")
    async with in_room(joined, clock=clock) as (screen, pilot):
        await go_to_card(screen, pilot, clock)
        await until(pilot, lambda: "allow once" in text_of(screen, "#card-keys"))
        pilot.app.app_suspend_signal.publish(pilot.app)  # ctrl+z, and fg after a while
        clock.rest(60)
        pilot.app.app_resume_signal.publish(pilot.app)
        await press_alone(pilot, clock, "d")
        await press_alone(pilot, clock, "enter")
        assert joined.answers == []
        await go_to_card(screen, pilot, clock)
        await answer(pilot, clock, "d")
        await until(pilot, lambda: joined.answers)
