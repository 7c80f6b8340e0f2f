"""A parser of one command, and the options that several commands share."""

import argparse
from collections.abc import Callable, Collection
from typing import Any, Final, NoReturn, TypeAlias

from genie_core.privacy.redaction import hide_secrets
from genie_core.settings.model import Settings
from genie_core.settings.setting_keys import NoSuchKey, given_as
from genie_tui.cli.output import safe_line

INPUT_HELP: Final = """\
The passphrase, of 8 characters at least, is asked for, or is the first line of standard input.
"""
_SET: Final = "set "  # before the names of settings among the options


class _SetOne(argparse.Action):
    """Takes any one setting; each is kept for itself, so that none before the command is lost."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        """Record the given value."""
        try:
            name, value = given_as(str(values), Settings)
        except (NoSuchKey, ValueError) as error:
            parser.error(hide_secrets(f"{option_string}: {error}"))
        setattr(namespace, f"{_SET}{name}", value)


class CommandParser(argparse.ArgumentParser):
    """Parses one command. It knows its options and parts, and its complaints are one line.

    `used` are the settings that the command uses, by their first part; None for all. A part begins
    with those of its command.
    """

    add_part: "AddPart"

    def __init__(self, **settings: Any) -> None:
        self.options: dict[str, argparse.Action] = {}
        self.parts: dict[str, CommandParser] = {}
        self.used: frozenset[str] | None = None
        super().__init__(**settings)

    def add_argument(self, *names: Any, **settings: Any) -> argparse.Action:
        """Add an option or a positional argument."""
        return self.note(super().add_argument(*names, **settings))

    def note(self, added: argparse.Action) -> argparse.Action:
        """Record an option that was added to a group of this command."""
        self.options |= dict.fromkeys(added.option_strings, added)
        return added

    def add_parts(self, title: str, metavar: str) -> "Callable[[str, str], CommandParser]":
        """Add subcommands; returns a function that adds one by name and help text."""
        add_parser = self.add_subparsers(title=title, metavar=metavar).add_parser

        def add(name: str, text: str) -> CommandParser:
            part = self.parts[name] = add_parser(name, help=text)
            part.used = self.used
            return part

        self.add_part = add
        return add

    @property
    def actions(self) -> list[argparse.Action]:
        """All options and positional arguments, those of groups too."""
        return self._actions

    def uses(self, setting: str) -> bool:
        """Whether the command uses a setting ("budget.money")."""
        return self.used is None or setting.partition(".")[0] in self.used

    def action(self, option: str) -> argparse.Action | None:
        """Return an option's action; the option may be abbreviated."""
        if exact := self.options.get(option):
            return exact
        names = (name for name in self.options if name.startswith(option) and option > "--")
        return self.options.get(next(names, ""))

    def error(self, message: str) -> NoReturn:
        """Print the problem and exit with code 2."""
        self.exit(2, f"genie-tui: {safe_line(message)} (see {self.prog} --help)\n")


_SETTINGS: Final = {
    "you": (
        ("--name", None, "your name in the room (default: your login name)"),
        ("--theme", None, "colour theme, for example genie-light"),
    ),
    "your assistant": (
        (
            "--agent",
            "NAME",
            (
                "an installed agent that answers: claude, codex, gemini, opencode, goose, or one "
                "with a command in [agents.NAME]"
            ),
        ),
        (
            "--model",
            "PROVIDER:MODEL",
            (
                "a pydantic-ai model, for example anthropic:claude-sonnet-4-5 or ollama:qwen3; "
                "without one an offline helper answers"
            ),
        ),
        ("--base-url", "URL", "any OpenAI-compatible server that has the model"),
        ("--api-key-env", "NAME", "the secret or variable that is sent there as the key"),
        ("--reasoner-model", "PROVIDER:MODEL", "a model of its own for deciding"),
        ("--template", None, "reasoner prompt (default: general_assist)"),
        (
            "--workspace",
            "FOLDER",
            "the one folder in which its tools read, write and start programs",
        ),
    ),
}
"""The settings with an option of their own: the option, the name of its value, and the help."""


def add_settings(
    parser: CommandParser,
    default: str | None = argparse.SUPPRESS,
    *,
    leave_out: Collection[str] = (),
) -> None:
    """Add the options for the settings that a command uses.

    A command's own defaults would overwrite options before its name, so it has none.
    """
    for title, settings in _SETTINGS.items():
        group = parser.add_argument_group(title)
        for option, metavar, text in settings:
            setting = option.removeprefix("--").replace("-", "_")
            if parser.uses(setting) and setting not in leave_out:
                parser.note(group.add_argument(option, help=text, metavar=metavar, default=default))
        if title == "you" and parser.used != frozenset():
            parser.note(
                group.add_argument(
                    "--set",
                    action=_SetOne,
                    default=argparse.SUPPRESS,
                    metavar="KEY=VALUE",
                    help="any other setting, for this time, for example budget.money=2",
                )
            )


AddPart: TypeAlias = "Callable[[str, str], CommandParser]"

ROOM_HELP: Final = (
    "the invite, the address on this machine such as :7654, or the start of the name of a room that "
    "you were in"
)
SESSION_HELP: Final = "the session's id, the start of it, or its title"


def parts_of(command: CommandParser) -> AddPart:
    """Return a function that adds a part of a command, with the command's settings."""
    add_part = command.add_parts("parts", "PART")

    def add(part_name: str, text: str) -> CommandParser:
        part = add_part(part_name, text)
        add_settings(part)
        part.set_defaults(part=part_name)
        return part

    return add


def time_span(text: str) -> float:
    from genie_core.room.commands.arguments import InvalidArguments, read_span

    try:
        return read_span(text)
    except InvalidArguments as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def whole_number(text: str) -> int:
    number = int(text) if text.isdecimal() and len(text) < 16 else 0
    if not number:
        raise argparse.ArgumentTypeError(f"it is a whole number from 1, not {text!r}")
    return number


def port_number(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if not 0 < number < 65536:
        raise argparse.ArgumentTypeError(f"a port is a number from 1 to 65535, not {text!r}")
    return number


def settings_in(options: argparse.Namespace) -> dict[str, object]:
    """Return the given settings by name; None for others."""
    given = {key: getattr(options, key, None) for key in Settings.__struct_fields__}
    for name, value in vars(options).items():
        if name.startswith(_SET):
            given[name.removeprefix(_SET)] = value
    return given
