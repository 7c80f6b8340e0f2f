"""Lines that are typed in a room, and the table of commands that they name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_core.room.commands.arguments import MessageLine, ModerationRequest, SaveRequest
from genie_core.room.commands.table import (
    COMMANDS,
    CommandLine,
    InvalidLine,
    Surface,
    commands,
    parse_line,
)

NAMES = sorted({spec.name for spec in COMMANDS})
SURFACES = (Surface.SCREEN, Surface.LINES, Surface.BROWSER)


def test_text_is_a_message() -> None:
    assert parse_line("hello /who") == MessageLine("hello /who")


def test_two_slashes_send_one() -> None:
    assert parse_line("//help") == MessageLine("/help")


def test_me_is_an_emote() -> None:
    assert parse_line("/me waves to all") == MessageLine("waves to all", emote=True)


def test_me_needs_something_to_do() -> None:
    assert isinstance(parse_line("/me "), InvalidLine)


@pytest.mark.parametrize("surface", SURFACES)
def test_name_is_unique_on_a_surface(surface: Surface) -> None:
    assert len(commands(surface)) == len([each for each in COMMANDS if each.surfaces & surface])


def test_case_and_space_do_not_matter() -> None:
    assert parse_line("/WHO  ") == CommandLine(commands(Surface.SCREEN)["who"], "")


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("/kick bob too loud", ModerationRequest("kick", "bob", reason="too loud")),
        ("/ban @bob", ModerationRequest("ban", "bob")),
        ("/pardon bob", ModerationRequest("pardon", "bob")),
        ("/free bob", ModerationRequest("free", "bob")),
        ("/mute bob", ModerationRequest("mute", "bob")),
        ("/unmute bob", ModerationRequest("unmute", "bob")),
        ("/admit cleo", "cleo"),
        ("/refuse cleo", "cleo"),
        ("/save", SaveRequest()),
        ("/detach", ""),
        ("/prefs @bob", "bob"),
        ("/auto off", False),
    ],
)
def test_arguments_are_parsed(text: str, arguments: object) -> None:
    line = parse_line(text)
    assert isinstance(line, CommandLine)
    assert line.arguments == arguments


@pytest.mark.parametrize("text", ["/kick", "/role bob", "/share maybe", "/invite --often"])
def test_a_mistake_shows_how_the_command_is_used(text: str) -> None:
    line = parse_line(text)
    assert isinstance(line, InvalidLine)
    name = text.split()[0].removeprefix("/")
    usage = commands(Surface.SCREEN)[name].usage
    assert line.text.startswith(usage)


def test_an_unknown_command_names_the_nearest() -> None:
    line = parse_line("/hlep")
    assert isinstance(line, InvalidLine)
    assert "/help" in line.text


def test_a_path_is_not_sent_silently() -> None:
    line = parse_line("/usr/bin/env")
    assert isinstance(line, InvalidLine)
    assert "type //" in line.text


def test_unexpected_argument_is_invalid() -> None:
    assert isinstance(parse_line("/quit smoking"), InvalidLine)


def test_a_lone_slash_is_a_mistake() -> None:
    assert isinstance(parse_line("/"), InvalidLine)


@given(st.sampled_from(NAMES), st.text(), st.sampled_from(SURFACES))
def test_parsing_never_raises(name: str, rest: str, surface: Surface) -> None:
    parse_line(f"/{name} {rest}", surface)


@pytest.mark.parametrize(
    "text", ["/reply 5 yes", "/edit 12 other", "/delete 7", "/react 7 x", "/retry 3", "/show 7"]
)
def test_lines_take_numbers_of_messages(text: str) -> None:
    assert isinstance(parse_line(text, Surface.LINES), CommandLine)


@pytest.mark.parametrize("text", ["/reply yes", "/edit 12", "/delete", "/react 7", "/retry x"])
def test_line_without_number_is_invalid(text: str) -> None:
    assert isinstance(parse_line(text, Surface.LINES), InvalidLine)


@pytest.mark.parametrize("name", ["reply", "tools", "thread"])
def test_screen_command_takes_no_number(name: str) -> None:
    assert isinstance(parse_line(f"/{name}", Surface.LINES), InvalidLine)


@pytest.mark.parametrize("name", ["tools", "invite", "kick", "model", "QUIT"])
def test_browser_names_commands_of_terminal(name: str) -> None:
    line = parse_line(f"/{name}", Surface.BROWSER)
    assert isinstance(line, InvalidLine)
    assert line.text.startswith(f"/{name} needs the program genie-tui in a terminal")


def test_browser_suggests_own_commands() -> None:
    line = parse_line("/whom", Surface.BROWSER)
    assert isinstance(line, InvalidLine)
    assert "/who?" in line.text
