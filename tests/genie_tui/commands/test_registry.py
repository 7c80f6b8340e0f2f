"""The screen's part of the commands: handlers for those that have no effect of their own."""

import pytest

from genie_tui.commands.registry import COMMANDS, Command, command_typed, slash_commands

BOUND = [each for each in COMMANDS if each.slash]


def test_every_command_acts_on_the_screen() -> None:
    for spec in slash_commands().values():
        command = command_typed(spec)
        if command is None:
            assert spec.effect is not None or spec.name in ("me", "quiet")
        elif command.typed is None and spec.read is None:
            assert command.run
        else:
            assert command.typed or spec.effect


@pytest.mark.parametrize("command", BOUND, ids=lambda each: each.name)
def test_entry_names_a_slash_command(command: Command) -> None:
    assert slash_commands()[command.slash].name == command.slash


def test_names_are_unique() -> None:
    for names in ([each.name for each in COMMANDS], [each.slash for each in BOUND]):
        assert len(names) == len(set(names))
