"""What can be said on the command line, and one clear line when it can't be understood.

Importing this module is cheap; it only names what a command needs.
"""

import argparse
import difflib
from collections.abc import Mapping
from importlib.metadata import version
from typing import Final, NoReturn

from genie_core.privacy.redaction import hide_secrets
from genie_tui.config_command import add_config
from genie_tui.output import safe_line
from genie_tui.replay_command import add_replay
from genie_tui.secrets_command import add_secrets
from genie_tui.sessions_options import add_sessions
from genie_tui.settings import Settings
from genie_tui.settings_keys import NoSuchKey, given_as

EXAMPLES: Final = """\
examples:
  genie-tui                              open the lobby: new room, saved rooms, join
  genie-tui host --title Standup         open a room and be in it
  genie-tui join genie1-…                join a room by the invite that its host gave you
  genie-tui join :7654 --name bob        join from another terminal of the host's machine
  genie-tui join :7654 --guest           join without an engine of your own
  genie-tui invite                       print the invite to the room you host
  genie-tui resume                       go on with the room you hosted last
  genie-tui sessions                     list your saved rooms; search, export, tidy up
  genie-tui replay                       watch the latest room again
  genie-tui host --model openai:gpt-5    let a language model listen and answer
  genie-tui id                           show your name and the words of your key
  genie-tui secrets set OPENAI_API_KEY   keep a key where only you can read it
  genie-tui doctor                       check terminal, folders, key, network, model and port
  genie-tui doctor --model               ask the models that are set whether they can do their work
  genie-tui config set model ollama:qwen3    change a setting for good; config show lists them

GENIE_HOME moves all files to one folder. Every setting is a key in settings.toml, and one with a
single value GENIE_<NAME> in the environment; the command line wins over both.
"""

_SET: Final = "set "  # before the names of settings among the options

_NONE: Final[frozenset[str]] = frozenset()
_USED: Final[Mapping[str, frozenset[str]]] = {
    "config path": _NONE,
    "config set": _NONE,
    "config unset": _NONE,
    "doctor": frozenset(
        {
            "name", "model", "base_url", "api_key_env", "runtime", "reasoner_model",
            "reasoner_base_url", "reasoner_api_key_env",
            "template", "workspace", "port",
        }
    ),
    "id": frozenset({"name"}),
    "invite": _NONE,
    "secrets": _NONE,
    "sessions": frozenset({"retention"}),
    **{
        f"sessions {part}": _NONE
        for part in (
            "show", "search", "rename", "tag", "fork", "check", "delete", "export", "import"
        )
    },
}  # fmt: skip
"""Settings that a command uses, by their first part; commands that are not here use all of them."""


_ENGINE: Final = frozenset(
    {
        "model", "base_url", "api_key_env", "runtime", "reasoner_model", "reasoner_base_url",
        "reasoner_api_key_env", "template", "workspace", "tools", "mcp", "servers", "rules",
        "agents", "budget", "tool_limits",
    }
)  # fmt: skip
"""Settings of an engine, which a guest does not bring."""


class _AskModel(argparse.Action):
    """Takes a model's name that may be missing."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        """Note that the models are to be asked, and which one."""
        namespace.ask_model = True
        if values:
            namespace.model = values


class _SetOne(argparse.Action):
    """Takes any one setting; each is kept for itself, so that none before the command is lost."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        """Note the value that was given."""
        try:
            name, value = given_as(str(values), Settings)
        except (NoSuchKey, ValueError) as error:
            parser.error(hide_secrets(f"{option_string}: {error}"))
        setattr(namespace, f"{_SET}{name}", value)


class _Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are one line."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and leave with code 2."""
        self.exit(2, f"genie-tui: {safe_line(message)} (see {self.prog} --help)\n")


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    top = _Parser(
        prog="genie-tui",
        description="A terminal group chat in which AI agents take part.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[_shared(None)],
    )
    top.add_argument("--version", action="version", version=f"genie-tui {version('genie-tui')}")
    top.set_defaults(command="lobby")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser)
    _add_commands(commands)
    return top


def parse(arguments: list[str]) -> argparse.Namespace:
    """Parse, after a look for unknown options, for which argparse would blame a later word."""
    top = parser()
    command = _command_in(arguments, top)
    options = top.parse_args(arguments)
    name = command.prog.removeprefix(top.prog).strip()
    for setting, value in settings_in(options).items():
        way = _way_without(setting, name, options)
        if value is not None and way:
            own = f"--{setting.replace('_', '-')}"
            spelt = own if own in top._option_string_actions else f"--set {setting}"  # noqa: SLF001 - argparse has no public way to read them
            command.error(f"{spelt} has no effect on '{top.prog} {way}'; leave it out")
    return options


def _way_without(setting: str, command: str, options: argparse.Namespace) -> str:
    """Name the command, with the option of it, that does not use a setting; "" if it does."""
    if not _is_used(setting, command):
        return command
    if getattr(options, "guest", False) and setting.partition(".")[0] in _ENGINE:
        return f"{command} --guest"
    if command == "replay" and (options.print or options.json):
        return f"{command} {'--print' if options.print else '--json'}"
    return ""


def _command_in(arguments: list[str], top: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Find the parser of the command that is named, and complain about options that it lacks."""
    command = top
    waiting = list(reversed(arguments))
    while waiting and (argument := waiting.pop()) != "--":
        if not argument.startswith("-"):
            command = _commands_of(command).get(argument, command)
            continue
        option, equals, _ = argument.partition("=")
        action = _action(command, option)
        if action is None and option.startswith("--"):
            known = command._option_string_actions  # noqa: SLF001 - as above
            near = difflib.get_close_matches(option, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            command.error(f"there is no option {option}{hint}")
        if action is not None and action.nargs is None and not equals and waiting:
            waiting.pop()  # its value, which may be called like a command
    return command


def _action(command: argparse.ArgumentParser, option: str) -> argparse.Action | None:
    """The action of an option, which may be cut short."""
    known = command._option_string_actions  # noqa: SLF001 - argparse has no public way to read them
    names = (name for name in known if name.startswith(option))
    exact = known.get(option)
    return exact or (known[name] if (name := next(names, "")) and option > "--" else None)


def _commands_of(command: argparse.ArgumentParser) -> Mapping[str, argparse.ArgumentParser]:
    for action in command._actions:  # noqa: SLF001 - argparse has no public way to read them
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - as above
            return action.choices
    return {}


def _is_used(setting: str, command: str) -> bool:
    """Whether a command, as in "config set", uses a setting, as in "budget.money"."""
    used = _USED.get(command, _USED.get(command.partition(" ")[0]))
    return used is None or setting.partition(".")[0] in used


def _shared(default: str | None, command: str = "") -> _Parser:
    """Describe the options for settings, those that a command uses."""
    shared = _Parser(add_help=False, argument_default=default)
    you = shared.add_argument_group("you")
    assistant = shared.add_argument_group("your assistant")

    def add(
        group: "argparse._ArgumentGroup", option: str, text: str, metavar: str | None = None
    ) -> None:
        if _is_used(option.removeprefix("--").replace("-", "_"), command):
            group.add_argument(option, help=text, metavar=metavar)

    add(you, "--name", "your name in the room (default: your login name)")
    add(you, "--theme", "colour theme, for example genie-light")
    if _USED.get(command) != _NONE:
        you.add_argument(
            "--set",
            action=_SetOne,
            default=argparse.SUPPRESS,
            metavar="KEY=VALUE",
            help="any other setting, for this time, for example budget.money=2",
        )
    add(
        assistant,
        "--model",
        "a pydantic-ai model, for example anthropic:claude-sonnet-4-5 or ollama:qwen3; "
        "without one an offline helper answers",
        "PROVIDER:MODEL",
    )
    add(assistant, "--base-url", "any OpenAI-compatible server that has the model", "URL")
    add(assistant, "--api-key-env", "the secret or variable that is sent there as the key", "NAME")
    add(assistant, "--reasoner-model", "a model of its own for deciding", "PROVIDER:MODEL")
    add(assistant, "--template", "reasoner prompt (default: general_assist)")
    add(
        assistant,
        "--workspace",
        "the one folder in which its tools read, write and start programs",
        "FOLDER",
    )
    return shared


_ID_HELP: Final = "the room's name, or the start of it (default: the room hosted last)"


def _later(command: str) -> _Parser:
    """The options of a command, whose defaults would overwrite what was given before its name."""
    return _shared(argparse.SUPPRESS, command)


def _add_commands(commands: "argparse._SubParsersAction[_Parser]") -> None:
    shared = _later("")
    host = commands.add_parser("host", help="open a new room", parents=[shared])
    host.add_argument("--title", default="", help="what the room is called")
    host.set_defaults(command="host")

    join = commands.add_parser("join", help="join a room by its invite", parents=[shared])
    join.add_argument(
        "way",
        metavar="INVITE",
        nargs="+",
        help="what the host gave you; on the host's own machine :PORT does, too, and for a room "
        "that you have been in the start of its name",
    )
    join.add_argument("--guest", action="store_true", help="bring no engine; the host's answers")
    join.add_argument(
        "--separate",
        action="store_true",
        help="if the host claims the id of a room that you have a copy of, keep the two apart",
    )
    join.set_defaults(command="join")

    resume = commands.add_parser("resume", help="host a saved room again", parents=[shared])
    resume.add_argument("id", metavar="ID", nargs="?", default="", help=_ID_HELP)
    resume.add_argument("--force", action="store_true", help="host it even if another host answers")
    resume.set_defaults(command="resume")

    for hosting in (host, resume):
        hosting.add_argument("--port", type=_port, help="where others can join (default: 7654)")
        hosting.add_argument(
            "--ask", action="store_true", default=None, help="let nobody new in without your word"
        )
        hosting.add_argument(
            "--local", action="store_true", default=None, help="for people on this machine only"
        )
        hosting.add_argument(
            "--no-announce",
            dest="announce",
            action="store_false",
            default=None,
            help="don't show the room to the network; an invite leads to it all the same",
        )

    who = commands.add_parser("id", help="show who you are to a room", parents=[_later("id")])
    who.set_defaults(command="id")

    invite = commands.add_parser(
        "invite", help="print the invite to a room that you host", parents=[_later("invite")]
    )
    invite.add_argument("id", metavar="ID", nargs="?", default="", help=_ID_HELP)
    invite.set_defaults(command="invite")

    doctor = commands.add_parser(
        "doctor",
        help="check terminal, folders, key, network, model and port",
        parents=[_later("doctor")],  # its own: another --model takes the place of theirs
        conflict_handler="resolve",
    )
    doctor.add_argument("--port", type=_port, help="the port to check")
    doctor.add_argument(
        "--model",
        default=argparse.SUPPRESS,
        metavar="PROVIDER:MODEL",
        nargs="?",
        action=_AskModel,
        help="check the models instead, by a few small requests to those that are set, or to this "
        "one in place of the main one",
    )
    doctor.set_defaults(command="doctor", ask_model=False)

    add_replay(commands, shared)
    add_sessions(commands, _later("sessions"))
    add_config(commands, shared, _later("config set"))
    add_secrets(commands, _later("secrets"))


def _port(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if not 0 < number < 65536:
        raise argparse.ArgumentTypeError(f"a port is a number from 1 to 65535, not {text!r}")
    return number


def settings_in(options: argparse.Namespace) -> dict[str, object]:
    """What was given of the settings, by their names; None for what was not."""
    given = {key: getattr(options, key, None) for key in Settings.__struct_fields__}
    for name, value in vars(options).items():
        if name.startswith(_SET):
            given[name.removeprefix(_SET)] = value
    return given
