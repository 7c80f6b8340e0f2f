import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_tui.commands.parse import MessageLine, ModerationRequest, SaveRequest
from genie_tui.commands.registry import (
    COMMANDS,
    Command,
    CommandLine,
    InvalidLine,
    Slash,
    parse_line,
    slash_commands,
)

TYPED = [(command, command.slash) for command in COMMANDS if command.slash is not None]


def test_text_is_a_message() -> None:
    assert parse_line("hello /who") == MessageLine("hello /who")


def test_two_slashes_send_one() -> None:
    assert parse_line("//help") == MessageLine("/help")


def test_me_is_an_emote() -> None:
    assert parse_line("/me waves to all") == MessageLine("waves to all", emote=True)


def test_me_needs_something_to_do() -> None:
    assert isinstance(parse_line("/me "), InvalidLine)


@pytest.mark.parametrize(("command", "slash"), TYPED)
def test_every_command_is_known_and_runs_in_one_way(command: Command, slash: Slash) -> None:
    assert slash_commands()[slash.name] is command
    assert (slash.read is None) == (slash.run is None)
    if slash.read is None and slash.name != "me":
        assert command.run
        assert parse_line(f"/{slash.name}") == CommandLine(command)


def test_names_are_used_once() -> None:
    for names in ([each.name for each in COMMANDS], [slash.name for _, slash in TYPED]):
        assert len(names) == len(set(names))


def test_case_and_space_do_not_matter() -> None:
    assert parse_line("/WHO  ") == CommandLine(slash_commands()["who"], "")


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
    usage = next(slash.usage for _, slash in TYPED if slash.name == name)
    assert line.text.startswith(usage)


def test_an_unknown_command_names_the_nearest() -> None:
    line = parse_line("/hlep")
    assert isinstance(line, InvalidLine)
    assert "/help" in line.text


def test_a_path_is_not_sent_silently() -> None:
    line = parse_line("/usr/bin/env")
    assert isinstance(line, InvalidLine)
    assert "type //" in line.text


def test_a_command_with_an_argument_it_does_not_take_is_a_mistake() -> None:
    assert isinstance(parse_line("/quit smoking"), InvalidLine)


def test_a_lone_slash_is_a_mistake() -> None:
    assert isinstance(parse_line("/"), InvalidLine)


@given(st.sampled_from([slash.name for _, slash in TYPED]), st.text())
def test_parsing_never_raises(name: str, rest: str) -> None:
    parse_line(f"/{name} {rest}")
