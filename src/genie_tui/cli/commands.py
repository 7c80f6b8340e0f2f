"""The table of the program's commands, and the parser of a command line.

The module of a command adds its options and runs it. It is imported when its command is called, so
that `--version` and `--help` answer quickly and a guest never loads an engine.
"""

import argparse
import difflib
from collections.abc import Callable, Iterable
from pkgutil import resolve_name
from typing import Final, NamedTuple

from genie_core import __version__
from genie_tui.cli.options import CommandParser, add_settings, settings_in
from genie_tui.plugins import CommandCall, command_extension, is_known, plugin_commands

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


class OwnCommand(NamedTuple):
    """A command of the program itself; a plugin's has the entry point `genie.commands`."""

    help: str
    add: str
    """The function that adds its options to a `CommandParser`, and sets `run`."""


COMMANDS: Final = {
    "host": OwnCommand("open a new room", "genie_tui.cli.room:add_host"),
    "join": OwnCommand("join a room by its invite", "genie_tui.cli.room:add_join"),
    "resume": OwnCommand("host a saved room again", "genie_tui.cli.room:add_resume"),
    "say": OwnCommand("post a message as a guest and leave", "genie_tui.cli.plain.say:add_say"),
    "tail": OwnCommand(
        "print what happens in a room, as it happens", "genie_tui.cli.plain.tail:add_tail"
    ),
    "id": OwnCommand("show who you are to a room", "genie_tui.cli.identity:add_id"),
    "invite": OwnCommand(
        "print the invite to a room that you host", "genie_tui.cli.invite:add_invite"
    ),
    "doctor": OwnCommand(
        "check terminal, folders, key, network, agents, tool servers, model and port",
        "genie_tui.cli.doctor:add_doctor",
    ),
    "keys": OwnCommand(
        "print the keys of every action, as a file to change them with",
        "genie_tui.cli.config:add_keys",
    ),
    "verify": OwnCommand(
        "prove who signed what in a session or an exported file",
        "genie_tui.cli.verify:add_verify",
    ),
    "replay": OwnCommand("watch a saved room again", "genie_tui.cli.replay:add_replay"),
    "sessions": OwnCommand(
        "list, search, export and tidy up saved rooms", "genie_tui.cli.sessions:add_sessions"
    ),
    "backup": OwnCommand(
        "write all sessions, keys and settings to a file", "genie_tui.cli.backup:add_backup"
    ),
    "restore": OwnCommand(
        "put the sessions, keys and settings of a backup in place",
        "genie_tui.cli.backup:add_restore",
    ),
    "config": OwnCommand("show, change and check your settings", "genie_tui.cli.config:add_config"),
    "secrets": OwnCommand(
        "keep keys and passwords for your assistant", "genie_tui.cli.secrets:add_secrets"
    ),
    "servers": OwnCommand(
        "list tool servers, log in at one in your browser, and log out",
        "genie_tui.cli.servers:add_servers",
    ),
    "completion": OwnCommand(
        "print a script that completes commands and options in your shell",
        "genie_tui.cli.completion:add_completion",
    ),
}

_ENGINE: Final = frozenset(
    {
        "agent", "model", "base_url", "api_key_env", "runtime", "reasoner_model",
        "reasoner_base_url", "reasoner_api_key_env", "template", "workspace", "tools", "mcp", "servers", "rules",
        "agents", "budget", "tool_limits", "private_files",
        "sandbox",
    }
)  # fmt: skip
"""Settings of an engine, which a guest does not bring."""


def parser() -> CommandParser:
    """Return the parser of all commands, also those of installed plugins."""
    top = _bare_parser()
    _add_own(top, COMMANDS)
    _add_plugins(top, plugin_commands())
    return top


def run_command(call: CommandCall) -> int:
    """Run a parsed command; without one, the lobby."""
    run: Callable[[CommandCall], int] = call.options.run or resolve_name(
        "genie_tui.cli.room:run_room"
    )
    return run(call)


def _bare_parser() -> CommandParser:
    """Return a parser that lists the commands of the program, without their options."""
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
    add = top.add_parts("commands", "COMMAND")
    for name, command in COMMANDS.items():
        add(name, command.help).set_defaults(command=name)
    return top


def _add_own(top: CommandParser, names: Iterable[str]) -> None:
    """Add the options of commands of the program with these names."""
    for name in names:
        resolve_name(COMMANDS[name].add)(top.parts[name])


def _add_plugins(top: CommandParser, names: Iterable[str]) -> None:
    """Add the commands of plugins with these names."""
    for name in names:
        command_extension(name)(top.add_part)


def parse(arguments: list[str]) -> argparse.Namespace:
    """Parse after checking for unknown options, for which argparse would blame a later word."""
    top = _bare_parser()
    word = _first_word(arguments, top)
    _add_own(top, {word} & COMMANDS.keys())
    _add_plugins(top, _wanted_plugins(arguments, word))
    command = _command_in(arguments, top)
    options = top.parse_args(arguments)
    name = command.prog.removeprefix(top.prog).strip()
    for setting, value in settings_in(options).items():
        without = _command_without(setting, name, command, options)
        if value is not None and without:
            own = f"--{setting.replace('_', '-')}"
            spelt = own if own in top.options else f"--set {setting}"
            command.error(f"{spelt} has no effect on '{top.prog} {without}'; leave it out")
    return options


def _wanted_plugins(arguments: list[str], word: str) -> Iterable[str]:
    """Name the commands of plugins to look at: the one that is called, or all for a list of them."""
    if word in COMMANDS:
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
        action = top.action(option)
        if action is not None and action.nargs is None and not equals and waiting:
            waiting.pop()  # its value
    return ""


def _command_without(
    setting: str, name: str, command: CommandParser, options: argparse.Namespace
) -> str:
    """Return the command and option that don't use a setting; "" if they do."""
    if not command.uses(setting):
        return name
    if getattr(options, "guest", False) and setting.partition(".")[0] in _ENGINE:
        return f"{name} --guest"
    if name == "replay" and (options.print or options.json):
        return f"{name} {'--print' if options.print else '--json'}"
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
        action = command.action(option)
        if action is None and option.startswith("--"):
            near = difflib.get_close_matches(option, command.options, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            command.error(f"there is no option {option}{hint}")
        if action is not None and action.nargs is None and not equals and waiting:
            waiting.pop()  # its value, which may be called like a command
    return command
