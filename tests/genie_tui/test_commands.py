import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_tui.commands import COMMANDS, Command, Invocation, Mistake, Speech, parse
from genie_tui.order import Admission, Detach, Moderation, Save, Who


def test_text_is_speech() -> None:
    assert parse("hello /who") == Speech("hello /who")


def test_two_slashes_send_one() -> None:
    assert parse("//help") == Speech("/help")


def test_me_is_an_emote() -> None:
    assert parse("/me waves to all") == Speech("waves to all", emote=True)


def test_me_needs_something_to_do() -> None:
    assert isinstance(parse("/me "), Mistake)


@pytest.mark.parametrize("command", [each for each in COMMANDS if each.action])
def test_every_command_without_more_is_known(command: Command) -> None:
    assert parse(f"/{command.name}") == Invocation(command)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_carried_out_in_one_way(command: Command) -> None:
    assert (bool(command.action), command.order is not None).count(True) == (command.name != "me")
    assert command.usage.split()[0] == f"/{command.name}"


def test_case_and_space_do_not_matter() -> None:
    line = parse("/WHO  ")
    assert isinstance(line, Invocation)
    assert line.order == Who()


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("/kick bob too loud", Moderation("kick", "bob", reason="too loud")),
        ("/ban @bob", Moderation("ban", "bob")),
        ("/pardon bob", Moderation("pardon", "bob")),
        ("/mute bob", Moderation("mute", "bob")),
        ("/unmute bob", Moderation("unmute", "bob")),
        ("/admit cleo", Admission("cleo", allow=True)),
        ("/refuse cleo", Admission("cleo", allow=False)),
        ("/save", Save()),
        ("/detach", Detach()),
    ],
)
def test_what_follows_a_command_is_read(text: str, order: object) -> None:
    line = parse(text)
    assert isinstance(line, Invocation)
    assert line.order == order


@pytest.mark.parametrize("text", ["/kick", "/role bob", "/share maybe", "/invite --often"])
def test_a_mistake_shows_how_the_command_is_used(text: str) -> None:
    line = parse(text)
    assert isinstance(line, Mistake)
    name = text.split()[0].removeprefix("/")
    usage = next(command.usage for command in COMMANDS if command.name == name)
    assert line.text.startswith(usage)


def test_an_unknown_command_names_the_nearest() -> None:
    line = parse("/hlep")
    assert isinstance(line, Mistake)
    assert "/help" in line.text


def test_a_path_is_not_sent_silently() -> None:
    line = parse("/usr/bin/env")
    assert isinstance(line, Mistake)
    assert "Two slashes" in line.text


def test_a_command_with_an_argument_it_does_not_take_is_a_mistake() -> None:
    assert isinstance(parse("/quit smoking"), Mistake)


def test_a_lone_slash_is_a_mistake() -> None:
    assert isinstance(parse("/"), Mistake)


@given(st.sampled_from([command.name for command in COMMANDS]), st.text())
def test_parsing_never_raises(name: str, rest: str) -> None:
    parse(f"/{name} {rest}")
