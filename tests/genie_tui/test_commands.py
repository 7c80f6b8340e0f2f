import pytest

from genie_tui.commands import COMMANDS, Command, Invocation, Mistake, Speech, parse


def test_text_is_speech() -> None:
    assert parse("hello /who") == Speech("hello /who")


def test_two_slashes_send_one() -> None:
    assert parse("//help") == Speech("/help")


def test_me_is_an_emote() -> None:
    assert parse("/me waves to all") == Speech("waves to all", emote=True)


def test_me_needs_something_to_do() -> None:
    assert isinstance(parse("/me "), Mistake)


@pytest.mark.parametrize("command", [each for each in COMMANDS if each.action])
def test_every_command_is_known(command: Command) -> None:
    line = parse(f"/{command.name}")
    assert isinstance(line, Invocation)
    assert line.command is command


def test_case_and_space_do_not_matter() -> None:
    line = parse("/WHO  ")
    assert isinstance(line, Invocation)
    assert line.command.name == "who"


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
