"""The command line: what can be said on it, and one clear line when it can't.

Importing this module is cheap. Everything that a command needs is imported when it runs, so that
`--version` and `--help` answer at once and a guest never loads an engine.
"""

import argparse
import difflib
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Final, NoReturn

from genie_core.errors import GenieError
from genie_core.redaction import hide_secrets, mask_known
from genie_tui.config_command import add_config, configure
from genie_tui.locations import Locations, find_locations
from genie_tui.opening import JoinRoom, NewRoom, Opening, ResumeRoom
from genie_tui.output import safe_line
from genie_tui.replay_command import add_replay, replay
from genie_tui.secrets_command import add_secrets, keep_secrets
from genie_tui.sessions_options import add_sessions
from genie_tui.settings import Settings
from genie_tui.settings_keys import NoSuchKey, given_as
from genie_tui.settings_source import SettingsSource

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

FAILED: Final = 1
INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141
"""What a shell reports for a program that SIGPIPE ended, which is what happens to other tools."""


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
    # A command's own defaults would overwrite what was given before its name.
    later = _shared(argparse.SUPPRESS)
    commands = top.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser)
    _add_commands(commands, later)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; returns its exit code. Errors are one line on stderr."""
    try:
        try:
            return _run(_parse(sys.argv[1:] if arguments is None else list(arguments)))
        finally:
            _flush()
    except GenieError as error:
        _complain(str(error))
        return FAILED
    except BrokenPipeError:
        return PIPE_CLOSED
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last resort: a person gets a line, the log file the rest
        _complain(_unexpected(error))
        return FAILED


def _flush() -> None:
    """Find out here, not at the interpreter's end, that nobody reads the output any more."""
    out = sys.__stdout__
    try:
        if out is not None:
            out.flush()
    except BrokenPipeError:
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), 1)
        raise


def _complain(text: str) -> None:
    with suppress(OSError):
        sys.stderr.write(f"genie-tui: {safe_line(mask_known(text))}\n")


def _unexpected(error: Exception) -> str:
    what = f"an internal error, {type(error).__name__}: {error}"
    file = _trace_kept()
    return f"{what}; the details are in {file}" if file else what


def _trace_kept() -> Path | None:
    """Add the traceback of what is being handled to the log file, if there can be one."""
    import traceback
    from datetime import UTC, datetime

    try:
        file = find_locations(os.environ).log_file
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.touch(mode=0o600)
        with file.open("a", encoding="utf-8", errors="backslashreplace") as log:
            log.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}Z the program ended unexpectedly\n")
            log.write(hide_secrets(traceback.format_exc()))
    except (GenieError, OSError):
        return None
    return file


def _parse(arguments: list[str]) -> argparse.Namespace:
    """Parse, after a look for unknown options, for which argparse would blame a later word."""
    top = parser()
    known = {option for each in _parsers(top) for option in each._option_string_actions}  # noqa: SLF001 - argparse has no public way to read them
    for argument in arguments:
        option = argument.partition("=")[0]
        if option.startswith("--") and not any(one.startswith(option) for one in known):
            near = difflib.get_close_matches(option, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            top.error(f"there is no option {option}{hint}")
    return top.parse_args(arguments)


def _parsers(top: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield top
    for action in top._actions:  # noqa: SLF001 - argparse has no public way to read them
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - as above
            for each in action.choices.values():
                yield from _parsers(each)


def _shared(default: str | None) -> _Parser:
    shared = _Parser(add_help=False, argument_default=default)
    you = shared.add_argument_group("you")
    you.add_argument("--name", help="your name in the room (default: your login name)")
    you.add_argument("--theme", help="colour theme, for example genie-light")
    you.add_argument(
        "--set",
        action=_SetOne,
        default=argparse.SUPPRESS,
        metavar="KEY=VALUE",
        help="any other setting, for this time, for example budget.money=2",
    )
    assistant = shared.add_argument_group("your assistant")
    assistant.add_argument(
        "--model",
        metavar="PROVIDER:MODEL",
        help="a pydantic-ai model, for example anthropic:claude-sonnet-4-5 or ollama:qwen3; "
        "without one an offline helper answers",
    )
    assistant.add_argument(
        "--base-url", metavar="URL", help="any OpenAI-compatible server that has the model"
    )
    assistant.add_argument(
        "--reasoner-model", metavar="PROVIDER:MODEL", help="a model of its own for deciding"
    )
    assistant.add_argument("--template", help="reasoner prompt (default: general_assist)")
    assistant.add_argument(
        "--workspace",
        metavar="FOLDER",
        help="the one folder in which its tools read, write and start programs",
    )
    return shared


_ID_HELP: Final = "the room's name, or the start of it (default: the room hosted last)"


def _add_commands(commands: "argparse._SubParsersAction[_Parser]", shared: "_Parser") -> None:
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
    join.set_defaults(command="join")

    resume = commands.add_parser("resume", help="host a saved room again", parents=[shared])
    resume.add_argument("id", metavar="ID", nargs="?", default="", help=_ID_HELP)
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

    who = commands.add_parser("id", help="show who you are to a room", parents=[shared])
    who.set_defaults(command="id")

    invite = commands.add_parser(
        "invite", help="print the invite to a room that you host", parents=[shared]
    )
    invite.add_argument("id", metavar="ID", nargs="?", default="", help=_ID_HELP)
    invite.set_defaults(command="invite")

    doctor = commands.add_parser(
        "doctor",
        help="check terminal, folders, key, network, model and port",
        parents=[_shared(argparse.SUPPRESS)],  # its own: another --model takes the place of theirs
        conflict_handler="resolve",
    )
    doctor.add_argument("--port", type=_port, help="the port to check")
    doctor.add_argument(
        "--model",
        metavar="PROVIDER:MODEL",
        nargs="?",
        action=_AskModel,
        help="check the models instead, by a few small requests to those that are set, or to this "
        "one in place of the main one",
    )
    doctor.set_defaults(command="doctor", ask_model=False)

    add_replay(commands, shared)
    add_sessions(commands, shared)
    add_config(commands, shared)
    add_secrets(commands, shared)


def _port(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if not 0 < number < 65536:
        raise argparse.ArgumentTypeError(f"a port is a number from 1 to 65535, not {text!r}")
    return number


def _run(options: argparse.Namespace) -> int:
    locations = find_locations(os.environ)
    overrides = {key: getattr(options, key, None) for key in Settings.__struct_fields__}
    for name, value in vars(options).items():
        if name.startswith(_SET):
            overrides[name.removeprefix(_SET)] = value
    source = SettingsSource(locations.settings_file, os.environ, overrides)
    if options.command == "config":
        return configure(options, source, locations, sys.stdout)
    settings = source.read().settings
    if options.command == "secrets":
        return keep_secrets(options, settings, locations, sys.stdin, sys.stdout)
    if options.command == "doctor":
        if options.ask_model:
            from genie_tui.model_check import check_models

            return check_models(settings, locations, os.environ, sys.stdout)
        from genie_tui.doctor import examine

        return examine(settings, locations, os.environ, sys.stdout)
    if options.command == "sessions":
        from genie_tui.sessions_command import keep_sessions

        return keep_sessions(options, settings, locations, sys.stdin, sys.stdout, sys.stderr)
    if options.command == "replay":
        return replay(options, source, locations, os.environ, sys.stdout, sys.stderr)
    if options.command == "invite":
        from genie_tui.hosting import print_invite

        return print_invite(options.id, locations, sys.stdout)
    if options.command == "id":
        from genie_tui.person import introduce

        return introduce(settings, locations, sys.stdout)
    return _start(options, source, locations)


def _start(options: argparse.Namespace, source: SettingsSource, locations: Locations) -> int:
    from genie_tui.start import start

    opening: Opening | None = None
    if options.command == "host":
        opening = NewRoom(options.title)
    elif options.command == "join":
        opening = JoinRoom(" ".join(options.way), guest=options.guest)
    elif options.command == "resume":
        opening = ResumeRoom(options.id)
    return start(opening, source, locations, os.environ)
