"""The options of every command, and one clear line for a command line that can't be understood.

Importing this module is cheap: nothing that a command works with is loaded here.
"""

import argparse
import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NoReturn, TypeAlias

from genie_core import __version__
from genie_core.privacy.redaction import hide_secrets
from genie_core.settings.model import Settings
from genie_core.settings.schema import NoSuchKey, given_as
from genie_tui.cli.output import safe_line
from genie_tui.plugins import command_extension, is_known, plugin_commands

EXAMPLES: Final = """\
examples:
  genie-tui                              open the lobby: new room, saved rooms, join
  genie-tui host --title Standup         open a room and be in it
  genie-tui join genie1-…                join a room by the invite that its host gave you
  genie-tui join :7654 --name bob        join from another terminal of the host's machine
  genie-tui join :7654 --guest           join without an engine of your own
  genie-tui mcp genie1-… --name bot      join as an agent: an MCP server for Claude Code, Codex …
  genie-tui serve                        host rooms that stay open, without a screen
  genie-tui acp genie1-…                 join from your editor: an ACP agent for Zed, toad …
  genie-tui web genie1-… --for 2h        let guests join the room in a browser
  genie-tui invite                       print the invite to the room you host
  genie-tui resume                       go on with the rooms that were open last
  genie-tui sessions                     list your saved rooms; search, export, tidy up
  genie-tui verify room.zip              prove who signed what in an exported room
  genie-tui replay                       watch the latest room again
  genie-tui eval ID --reasoner mine      measure a reasoner by the decisions that you marked as wrong
  genie-tui host --model openai:gpt-5    let a language model listen and answer
  genie-tui host --agent codex           let an agent that you have installed answer
  genie-tui backup genie.zip             write all sessions, keys and settings to a file
  genie-tui admin                        look after the rooms of a service that runs here or elsewhere
  genie-tui id                           show your name and the words of your key
  genie-tui secrets set OPENAI_API_KEY   keep a key where only you can read it
  genie-tui doctor                       check terminal, folders, key, network, agents, tool servers, model and port
  genie-tui doctor --model               ask the models that are set whether they can do their work
  genie-tui keys                         print the keys of every action, to change them in keys.toml
  genie-tui config set model ollama:qwen3    change a setting for good; config show lists them

GENIE_HOME moves all files to one folder. Every setting is a key in settings.toml, and one with a
single value GENIE_<NAME> in the environment; the command line wins over both.
"""

_PLAIN_CODES: Final = """\
exit code with --plain: 0 after /quit, the end of the input or a signal; 1 if the room could not be
entered, the connection ended, or something typed was not recorded; 2 for a wrong command line; 141 if
the reader of the output is gone.
"""
_SAY_CODES: Final = """\
exit code: 0 if the room has recorded the message and, with --answer, the answer was printed; 1 if not;
2 for a wrong command line; 128 and the signal's number, such as 130 for ctrl+c, after a signal. The
room has 30 seconds to let you in and to record the message.
"""
_TAIL_CODES: Final = """\
exit code: 0 after a signal such as ctrl+c; 1 if the room could not be entered or the connection ended;
2 for a wrong command line; 141 if the reader of the output is gone, as after "| head".
"""

INPUT_HELP: Final = """\
The passphrase, of 8 characters at least, is asked for, or is the first line of standard input.
"""
_LANGUAGE: Final = """\
Texts with all the words are found, also inside of other words. TEXT may have:
  "a phrase"               the words as they stand
  -word -"a phrase"        leave out texts with them; also -from:bob, -kind:silent …
  from:ann from:genie      by a person, or by agents
  in:standup               in rooms with this in their title or id
  before:2026-11-01        before that day; or a month 2026-11, or a year 2026
  after:2026-10-01         from that day on
  kind:denied              of a kind: message, answer, decision, silent, approval, approved, denied,
                           expired, parked, failed, stopped, title
  has:file                 messages with files
  /inv(oice)?s?/           a regular expression

Quotes and a leading - need quotes around the whole TEXT:
  genie-tui sessions search '"last offer" -vendor from:ann'
"""

_VERIFY_CODES: Final = """\
exit code: 0 if everything that is signed is proven; 1 if an entry is not, if something is damaged, or
if there is nothing that can be verified; 2 for a wrong command line.
"""

FASTEST: Final = 1_000.0
"""The highest speed of a replay."""

_SET: Final = "set "  # before the names of settings among the options

_NONE: Final[frozenset[str]] = frozenset()
_USED: Final[Mapping[str, frozenset[str]]] = {
    "backup": frozenset({"name"}),
    "config path": _NONE,
    "config set": _NONE,
    "config unset": _NONE,
    "doctor": frozenset(
        {
            "name", "agent", "model", "base_url", "api_key_env", "runtime", "reasoner_model",
            "reasoner_base_url", "reasoner_api_key_env",
            "template", "workspace", "port", "keymap", "mcp", "servers", "tools", "agents", "sandbox",
        }
    ),
    "id": frozenset({"name"}),
    "invite": _NONE,
    "keys": frozenset({"keymap"}),
    "restore": frozenset({"name"}),
    "secrets": _NONE,
    "servers": _NONE,
    "sessions": frozenset({"retention"}),
    "verify": _NONE,
    **{
        f"sessions {part}": _NONE
        for part in (
            "show", "search", "rename", "tag", "fork", "check", "delete", "export"
        )
    },
    "sessions import": frozenset({"name"}),
    "sessions salvage": frozenset({"name"}),
}  # fmt: skip
"""Settings that a command uses, by their first part; commands that are not here use all of them."""


_ENGINE: Final = frozenset(
    {
        "agent", "model", "base_url", "api_key_env", "runtime", "reasoner_model",
        "reasoner_base_url", "reasoner_api_key_env", "template", "workspace", "tools", "mcp", "servers", "rules",
        "agents", "budget", "tool_limits", "private_files",
        "sandbox",
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
        """Record that models are to be tested, and which one."""
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
        """Record the given value."""
        try:
            name, value = given_as(str(values), Settings)
        except (NoSuchKey, ValueError) as error:
            parser.error(hide_secrets(f"{option_string}: {error}"))
        setattr(namespace, f"{_SET}{name}", value)


class CommandParser(argparse.ArgumentParser):
    """Parses one command. It knows its options and parts, and its complaints are one line.

    `used` are the settings that the command of a plugin uses, by their first part; its parts use
    the same. The others are in the table of this module.
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

    def error(self, message: str) -> NoReturn:
        """Print the problem and exit with code 2."""
        self.exit(2, f"genie-tui: {safe_line(message)} (see {self.prog} --help)\n")


def parser() -> CommandParser:
    """Return the parser of all commands, also those of installed plugins."""
    top = _parser_without_plugins()
    _add_plugins(top, plugin_commands())
    return top


def _add_plugins(top: CommandParser, names: Iterable[str]) -> None:
    """Add the commands of plugins with these names."""
    for name in names:
        add_command: Callable[[AddPart], None] = command_extension(name)
        add_command(top.add_part)


def _parser_without_plugins() -> CommandParser:
    top = CommandParser(
        prog="genie-tui",
        description="A terminal group chat in which AI agents take part.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_settings(top, default=None)
    top.add_argument(
        "--local",
        action="store_true",
        default=None,
        help="stay on this machine: look for no rooms on the network, host for this machine only",
    )
    top.add_argument("--version", action="version", version=f"genie-tui {__version__}")
    top.set_defaults(command="lobby", run=None)
    _add_commands(top.add_parts("commands", "COMMAND"))
    return top


def parse(arguments: list[str]) -> argparse.Namespace:
    """Parse after checking for unknown options, for which argparse would blame a later word."""
    top = _parser_without_plugins()
    _add_plugins(top, _wanted_plugins(arguments, top))
    command = _command_in(arguments, top)
    options = top.parse_args(arguments)
    name = command.prog.removeprefix(top.prog).strip()
    for setting, value in settings_in(options).items():
        without = _command_without(setting, name, command.used, options)
        if value is not None and without:
            own = f"--{setting.replace('_', '-')}"
            spelt = own if own in top.options else f"--set {setting}"
            command.error(f"{spelt} has no effect on '{top.prog} {without}'; leave it out")
    return options


def _wanted_plugins(arguments: list[str], top: CommandParser) -> Iterable[str]:
    """Name the commands of plugins to look at: the one that is called, or all for a list of them."""
    word = _first_word(arguments, top)
    if word in top.parts:
        return ()
    if not word and not {"-h", "--help"} & {*arguments}:
        return ()
    installed = plugin_commands()
    return [word] if word in installed or is_known(word) else installed


def _first_word(arguments: list[str], top: CommandParser) -> str:
    """Return the name of the command; "" without one."""
    waiting = list(reversed(arguments))
    while waiting and (argument := waiting.pop()) != "--":
        if not argument.startswith("-"):
            return argument
        option, equals, _ = argument.partition("=")
        action = _action(top, option)
        if action is not None and action.nargs is None and not equals and waiting:
            waiting.pop()  # its value
    return ""


def _command_without(
    setting: str, command: str, used: frozenset[str] | None, options: argparse.Namespace
) -> str:
    """Return the command and option that don't use a setting; "" if they do."""
    if not _is_used(setting, command, used):
        return command
    if getattr(options, "guest", False) and setting.partition(".")[0] in _ENGINE:
        return f"{command} --guest"
    if command == "replay" and (options.print or options.json):
        return f"{command} {'--print' if options.print else '--json'}"
    return ""


def _command_in(arguments: list[str], top: CommandParser) -> CommandParser:
    """Return the parser of the named command; report options that it lacks."""
    command = top
    waiting = list(reversed(arguments))
    while waiting and (argument := waiting.pop()) != "--":
        if not argument.startswith("-"):
            command = command.parts.get(argument, command)
            continue
        option, equals, _ = argument.partition("=")
        action = _action(command, option)
        if action is None and option.startswith("--"):
            near = difflib.get_close_matches(option, command.options, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            command.error(f"there is no option {option}{hint}")
        if action is not None and action.nargs is None and not equals and waiting:
            waiting.pop()  # its value, which may be called like a command
    return command


def _action(command: CommandParser, option: str) -> argparse.Action | None:
    """Return an option's action; the option may be abbreviated."""
    if exact := command.options.get(option):
        return exact
    names = (name for name in command.options if name.startswith(option) and option > "--")
    return command.options.get(next(names, ""))


def _is_used(setting: str, command: str, used: frozenset[str] | None) -> bool:
    """Whether a command ("config set") uses a setting ("budget.money")."""
    if used is None:
        used = _USED.get(command, _USED.get(command.partition(" ")[0]))
    return used is None or setting.partition(".")[0] in used


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
    parser: CommandParser, command: str = "", default: str | None = argparse.SUPPRESS
) -> None:
    """Add the options for the settings that a command uses.

    A command's own defaults would overwrite options before its name, so it has none.
    """
    for title, settings in _SETTINGS.items():
        group = parser.add_argument_group(title)
        for option, metavar, text in settings:
            setting = option.removeprefix("--").replace("-", "_")
            if _is_used(setting, command, parser.used) and (command, setting) != (
                "doctor",
                "model",
            ):
                parser.note(group.add_argument(option, help=text, metavar=metavar, default=default))
        if title == "you" and _NONE not in (parser.used, _USED.get(command)):
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

_ROOM_HELP: Final = (
    "the invite, the address on this machine such as :7654, or the start of the name of a room that "
    "you were in"
)
_ID_HELP: Final = "the room's name, or the start of it (default: the room hosted last)"
_RESUMED_HELP: Final = (
    "the room's name, or the start of it (default: all that were open when you quit)"
)
SESSION_HELP: Final = "the session's id, the start of it, or its title"


def _add_commands(add: AddPart) -> None:
    host = add("host", "open a new room")
    add_settings(host)
    host.add_argument("--title", default="", help="what the room is called")
    host.set_defaults(command="host")

    join = add("join", "join a room by its invite")
    add_settings(join)
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
    join.add_argument(
        "--follow",
        metavar="NAME",
        default=None,
        help="follow the member NAME into the new room that continues one whose host is gone",
    )
    join.set_defaults(command="join")

    resume = add("resume", "host a saved room again")
    add_settings(resume)
    resume.add_argument("id", metavar="ID", nargs="?", default="", help=_RESUMED_HELP)
    resume.add_argument("--force", action="store_true", help="host it even if another host answers")
    resume.add_argument(
        "--continue",
        dest="continues",
        action="store_true",
        help="continue a room whose host is gone, and which you may not host, as a new one",
    )
    resume.set_defaults(command="resume")

    for hosting in (host, resume):
        hosting.add_argument(
            "--port", type=port_number, help="where others can join (default: 7654)"
        )
        hosting.add_argument(
            "--ask",
            action="store_true",
            default=None,
            help="admit new people only with your consent",
        )
        hosting.add_argument(
            "--invite-only",
            dest="trust_loopback",
            action="store_false",
            default=None,
            help="admit new people of this machine only by an invite, too",
        )
        hosting.add_argument(
            "--local",
            action="store_true",
            default=argparse.SUPPRESS,
            help="for people on this machine only",
        )
        hosting.add_argument(
            "--no-announce",
            dest="announce",
            action="store_false",
            default=None,
            help="don't show the room to the network; an invite leads to it all the same",
        )

    for command in (host, join, resume):
        command.add_argument(
            "--plain",
            action="store_true",
            help="lines of text in place of screens: for screen readers, simple terminals and pipes",
        )
        command.epilog = _PLAIN_CODES

    say = add("say", "post a message as a guest and leave")
    add_settings(say)
    say.add_argument("room", metavar="ROOM", help=_ROOM_HELP)
    say.add_argument("text", metavar="TEXT", nargs="+", help="the message")
    say.add_argument(
        "--answer",
        metavar="SECONDS",
        type=float,
        nargs="?",
        const=120.0,
        default=0.0,
        help="wait for the answer and print it (default: up to 120)",
    )
    say.epilog = _SAY_CODES
    say.set_defaults(command="say")

    tail = add("tail", "print what happens in a room, as it happens")
    add_settings(tail)
    tail.add_argument("room", metavar="ROOM", help=_ROOM_HELP)
    tail.add_argument(
        "--json",
        action="store_true",
        help='the events as JSON, one on each line; "doubt" says what is not proven',
    )
    tail.add_argument(
        "--last",
        metavar="N",
        type=int,
        default=20,
        help="begin with the last N entries (default: 20)",
    )
    tail.epilog = _TAIL_CODES
    tail.set_defaults(command="tail")

    who = add("id", "show who you are to a room")
    add_settings(who, "id")
    who.set_defaults(command="id")

    invite = add("invite", "print the invite to a room that you host")
    add_settings(invite, "invite")
    invite.add_argument("id", metavar="ID", nargs="?", default="", help=_ID_HELP)
    invite.set_defaults(command="invite")

    doctor = add(
        "doctor", "check terminal, folders, key, network, agents, tool servers, model and port"
    )
    add_settings(doctor, "doctor")
    doctor.add_argument("--port", type=port_number, help="the port to check")
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

    keys = add("keys", "print the keys of every action, as a file to change them with")
    add_settings(keys, "keys")
    keys.set_defaults(command="keys")

    _add_verify(add)
    _add_replay(add)
    _add_sessions(add)
    _add_backup(add)
    _add_config(add)
    _add_secrets(add)
    _add_servers(add)


def _add_verify(add: AddPart) -> None:
    verify = add("verify", "prove who signed what in a session or an exported file")
    add_settings(verify, "verify")
    verify.add_argument(
        "what", metavar="FILE|ID", help="a file that was exported as jsonl or zip, or a session"
    )
    verify.add_argument("--json", action="store_true", help="as JSON")
    verify.epilog = _VERIFY_CODES
    verify.set_defaults(command="verify")


def _add_replay(add: AddPart) -> None:
    replay = add("replay", "watch a saved room again")
    add_settings(replay)
    replay.add_argument(
        "id",
        metavar="ID",
        nargs="?",
        default="",
        help="the room's name, or the start of it (default: the latest)",
    )
    replay.add_argument("--at", type=_seq, metavar="SEQ", help="begin at this event, paused")
    replay.add_argument(
        "--speed",
        type=_speed,
        metavar="N",
        help="so many times as fast as it was (default: 1; with --print as fast as it can be read)",
    )
    ways = replay.add_mutually_exclusive_group()
    replay.note(
        ways.add_argument(
            "--print", action="store_true", help="write it as text to standard output"
        )
    )
    replay.note(
        ways.add_argument(
            "--json", action="store_true", help="write the events as they are in the log"
        )
    )
    replay.note(
        ways.add_argument(
            "--reasoner",
            metavar="TEMPLATE",
            help="ask this reasoner prompt about all that was said, and show what it would have decided "
            "otherwise; --model asks another model, with the usual prompt or this one",
        )
    )
    replay.add_argument(
        "--from", dest="first", type=_seq, default=1, metavar="SEQ", help="the first event written"
    )
    replay.add_argument(
        "--to", dest="last", type=_seq, default=None, metavar="SEQ", help="the last event written"
    )
    replay.set_defaults(command="replay")


def _add_sessions(add_command: AddPart) -> None:
    sessions = add_command("sessions", "list, search, export and tidy up saved rooms")
    add_settings(sessions, "sessions")
    _add_list_options(sessions, "activity", [], json=False)
    sessions.set_defaults(command="sessions", part="list")
    add = parts_of(sessions, "sessions")
    unset = argparse.SUPPRESS  # as in add_settings
    _add_list_options(add("list", "list all sessions, the latest first"), unset, unset, json=unset)
    _add_looking(add)
    _add_changing(add)
    _add_export(add)


def parts_of(command: CommandParser, name: str) -> AddPart:
    """Return a function that adds a part of a command, with the command's settings."""
    add_part = command.add_parts("parts", "PART")

    def add(part_name: str, text: str) -> CommandParser:
        part = add_part(part_name, text)
        add_settings(part, name)
        part.set_defaults(part=part_name)
        return part

    return add


def _add_looking(add: AddPart) -> None:
    show = add("show", "tell what is known of one session")
    show.add_argument("id", metavar="ID", help=SESSION_HELP)
    show.add_argument(
        "--last", type=whole_number, default=5, metavar="N", help="so many messages (default: 5)"
    )
    show.add_argument("--json", action="store_true", help="as JSON")
    search = add("search", "find words in all sessions")
    search.epilog, search.formatter_class = _LANGUAGE, argparse.RawDescriptionHelpFormatter
    search.add_argument("words", metavar="TEXT", nargs="+", help="what to find, see below")
    search.add_argument(
        "--limit",
        type=whole_number,
        default=20,
        metavar="N",
        help="at most so many hits (default: 20)",
    )
    search.add_argument("--json", action="store_true", help="as JSON")


def _add_changing(add: AddPart) -> None:
    rename = add("rename", "give a session another title")
    rename.add_argument("id", metavar="ID", help=SESSION_HELP)
    rename.add_argument("title", metavar="TITLE", nargs="+")
    tag = add("tag", "put tags on a session, or take them off")
    tag.add_argument("id", metavar="ID", help=SESSION_HELP)
    tag.add_argument("tags", metavar="TAG", nargs="*", help="without any: print those it has")
    tag.add_argument(
        "--remove", metavar="TAG", nargs="*", help="take these off; without any, those before it"
    )
    fork = add("fork", "make a new session of what happened in one")
    fork.add_argument("id", metavar="ID", help=SESSION_HELP)
    fork.add_argument("--at", type=whole_number, metavar="SEQ", help="the last event to take along")
    check = add("check", "check for damage, and repair it if asked")
    check.add_argument("ids", metavar="ID", nargs="*", help="default: all sessions")
    check.add_argument(
        "--repair", action="store_true", help="mend; what is changed is kept beside it first"
    )
    salvage = add("salvage", "put a session together from what a bad disk left of it")
    salvage.add_argument(
        "sources",
        metavar="SOURCE",
        nargs="+",
        help="a damaged log, a file or folder with pieces, a member's copy, or the id of a session; "
        "the first counts most where several have an event",
    )
    salvage.add_argument(
        "--into", metavar="ID", help="mend this session; its log is the first source then"
    )
    delete = add("delete", "move sessions to the system's trash")
    delete.add_argument("ids", metavar="ID", nargs="+", help=SESSION_HELP)
    prune = add("prune", "move the sessions that are past your limits to the system's trash")
    for asking in (delete, prune):
        asking.add_argument("--yes", action="store_true", help="don't ask")


def _add_list_options(
    parser: CommandParser, sort: str, tags: list[str] | str, *, json: bool | str
) -> None:
    parser.add_argument(
        "--sort",
        choices=("activity", "title", "size", "unread"),
        default=sort,
        help="what the order goes by (default: activity)",
    )
    parser.add_argument(
        "--tag", action="append", default=tags, metavar="TAG", help="only those with this tag"
    )
    parser.add_argument("--json", action="store_true", default=json, help="as JSON")


def _add_export(add: AddPart) -> None:
    export = add("export", "write sessions to files, to be read or taken along")
    export.add_argument("ids", metavar="ID", nargs="+", help="a session's name, or the start of it")
    export.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        default="",
        help="where to: a file, or a folder, also for several sessions; - prints it (default: the "
        "session's name, in the current folder)",
    )
    export.add_argument(
        "--format",
        metavar="FORMAT",
        help="markdown, html, jsonl, cast or svg, or one of another plugin; jsonl is complete and can be imported, cast is a terminal recording, svg an animated "
        "picture of a short part (default: what the file's name ends in, or else markdown)",
    )
    export.add_argument(
        "--attachments",
        action="store_true",
        help="with the files that people attached; jsonl becomes a zip archive then",
    )
    export.add_argument("--force", action="store_true", help="replace a file that is there")
    part = export.add_argument_group(
        "what of it, in markdown and html; --from and --to in cast and svg, too"
    )
    export.note(
        part.add_argument(
            "--from",
            dest="first",
            metavar="SEQ|DATE",
            default="",
            help="the first entry, or the day or time, such as 2026-11-21 or 2026-11-21T14:30",
        )
    )
    export.note(
        part.add_argument(
            "--to", dest="last", metavar="SEQ|DATE", default="", help="the last entry, day or time"
        )
    )
    export.note(
        part.add_argument(
            "--messages-only",
            action="store_true",
            help="only messages and answers, no other entries",
        )
    )
    export.note(
        part.add_argument(
            "--no-arguments", action="store_true", help="leave out what tools were called with"
        )
    )
    export.note(
        part.add_argument(
            "--pseudonyms",
            action="store_true",
            help="replace the names of people, also in texts, and leave out keys and signatures",
        )
    )
    export.note(
        part.add_argument(
            "--redact",
            metavar="FILE",
            default="",
            help="replace what is in this file by ▇▇▇: words, or regular expressions between slashes, "
            "one a line",
        )
    )
    taking = add("import", "take in an exported session, or conversations of other programs")
    taking.add_argument(
        "file",
        metavar="FILE",
        help="a session that was exported as jsonl or zip, - for the standard input; or an export of "
        "ChatGPT, Claude, Slack, Discord or group-genie, or a log of WeeChat or irssi: a file, a "
        "zip archive or a folder",
    )
    taking.add_argument(
        "--as-copy", action="store_true", help="import what is here already as another room"
    )


def _add_backup(add: AddPart) -> None:
    backup = add("backup", "write all sessions, keys and settings to a file")
    add_settings(backup, "backup")
    backup.add_argument("file", metavar="FILE", help="where to")
    backup.add_argument("--force", action="store_true", help="replace a file that is there")
    restore = add("restore", "put the sessions, keys and settings of a backup in place")
    add_settings(restore, "restore")
    restore.add_argument("file", metavar="FILE", help="what to read")
    restore.add_argument(
        "--replace",
        action="store_true",
        help="replace what is here already, and keep it under another name",
    )
    for command, name in ((backup, "backup"), (restore, "restore")):
        command.epilog = INPUT_HELP
        command.set_defaults(command=name)


def _add_config(add: AddPart) -> None:
    config = add("config", "show, change and check your settings")
    add_settings(config)
    config.set_defaults(command="config", part="show")
    add_part = config.add_parts("parts", "PART")

    def added(name: str, text: str, command: str = "") -> CommandParser:
        part = add_part(name, text)
        add_settings(part, command)
        part.set_defaults(part=name)
        return part

    bare = "config set"
    added("path", "print where the settings file is", bare)
    added("show", "print every setting, and where its value comes from")
    added("edit", "open the file in $VISUAL or $EDITOR, and check it afterwards")
    added("check", "find everything that is wrong, also with models, prompts and tool servers")
    change = added("set", "write settings into the file", bare)
    change.add_argument("key", metavar="KEY", help="for example model or budget.money")
    change.add_argument(
        "value", metavar="VALUE", nargs="?", help="as it is; lists as a,b; KEY=VALUE does, too"
    )
    change.add_argument(
        "more", metavar="KEY VALUE", nargs="*", help="others at the same time: all of them or none"
    )
    unset = added("unset", "take one setting out of the file", bare)
    unset.add_argument("key", metavar="KEY", help="as for set")


def _add_secrets(add: AddPart) -> None:
    secrets = add("secrets", "keep keys and passwords for your assistant")
    add_settings(secrets, "secrets")
    secrets.set_defaults(command="secrets", part="list")
    added = parts_of(secrets, "secrets")
    keep = added("set", "keep a value; it is asked for, or read from standard input")
    keep.add_argument("secret", metavar="NAME", help="for example OPENAI_API_KEY")
    keep.add_argument("surplus", nargs="*", help=argparse.SUPPRESS)
    added("list", "print the names, never a value")
    added("delete", "forget a value").add_argument("secret", metavar="NAME")


def _add_servers(add: AddPart) -> None:
    servers = add("servers", "list tool servers, log in at one in your browser, and log out")
    add_settings(servers, "servers")
    servers.set_defaults(command="servers", part="list")
    added = parts_of(servers, "servers")
    added("list", "print the names, and where you are logged in")
    login = added("login", "log in at a server on HTTP that wants it (OAuth)")
    login.add_argument("server", metavar="NAME", help="a server of the mcpServers file")
    login.add_argument(
        "--no-browser",
        dest="browser",
        action="store_false",
        help="only print the address at which to log in",
    )
    added("logout", "forget a login").add_argument("server", metavar="NAME")


def _seq(text: str) -> int:
    number = int(text) if text.isdecimal() and len(text) < 16 else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"events are counted from 1, and {text!r} is none")
    return number


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not 0 < speed <= FASTEST:
        raise argparse.ArgumentTypeError(f"a speed is a number like 0.5 or 8, not {text!r}")
    return speed


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
