"""`genie-tui secrets`: keep, list and delete the assistant's keys and passwords."""

import argparse
from collections.abc import Sequence
from typing import Final, TextIO

from genie_core.errors import GenieError
from genie_core.settings.model import default_name
from genie_tui.cli.options import CommandParser, add_settings, parts_of
from genie_tui.cli.output import safe_line
from genie_tui.plugins import CommandCall

_LONGEST_INPUT: Final = 100_000


class NoValue(GenieError):
    """The value of a secret was not given, or not in a way that keeps it to oneself."""


def run_secrets(call: CommandCall) -> int:
    """Run a secrets command; returns the exit code. Errors as `OwnSecrets`, and `NoValue`."""
    from genie_core.assistant import secrets as own

    options, given, out = call.options, call.stdin, call.stdout
    secrets = own.OwnSecrets(call.settings.name or default_name(), call.locations.secrets)
    match options.part:
        case "set":
            if options.surplus:
                raise NoValue(
                    "a secret's value is not given on the command line, where other programs and "
                    "your shell's history can see it; leave it out to be asked"
                )
            own.check_name(options.secret)
            value = ask_secret(options.secret) if given.isatty() else read_secret(given)
            replaced = [
                name
                for each in secrets.entries()
                if each.name == options.secret
                for name in each.others
            ]
            where = secrets.set(options.secret, value)
            out.write(f"{options.secret} is kept in {safe_line(where)}\n")
            if where != own.KEYRING:
                out.write("(a file that only you can read: this session has no keyring)\n")
            if replaced:
                out.write(f"(in place of what was kept for {_listed(replaced)})\n")
            if not own.is_hidden(value):
                out.write("(it is too short to be hidden where a tool or a model repeats it)\n")
        case "delete":
            where = secrets.delete(options.secret)
            out.write(f"{options.secret} is deleted from {safe_line(where)}\n")
        case _:
            entries = secrets.entries()
            width = max((len(entry.name) for entry in entries), default=0)
            out.writelines(f"{each.name:{width}}  {safe_line(each.where)}\n" for each in entries)
            if not entries:
                out.write("no secrets are kept\n")
            for each in entries:
                if each.others:
                    out.write(
                        f"{each.name} was kept for {_listed(each.others)} with a value of its own, which is not "
                        f"used; to keep one for all names: genie-tui secrets set {each.name}\n"
                    )
    return 0


def _listed(names: Sequence[str]) -> str:
    return " and for ".join(map(safe_line, names))


def read_secret(given: TextIO) -> str:
    """Read a value from standard input; raises `NoValue`."""
    try:
        text = given.read(_LONGEST_INPUT)
    except UnicodeDecodeError:
        raise NoValue("what standard input has is no text; save it as UTF-8") from None
    return text.removesuffix("\n").removesuffix("\r")


def ask_secret(name: str) -> str:
    """Ask for a value without showing it; raises `NoValue`."""
    import getpass
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error", getpass.GetPassWarning)
        try:
            return getpass.getpass(f"{name}: ")
        except EOFError:
            raise NoValue("no value was given; nothing has changed") from None
        except getpass.GetPassWarning:
            raise NoValue(
                "this terminal would show the value; pass it on standard input instead"
            ) from None


def add_secrets(command: CommandParser) -> None:
    command.used = frozenset()
    add_settings(command)
    command.set_defaults(run=run_secrets, part="list")
    added = parts_of(command)
    keep = added("set", "keep a value; it is asked for, or read from standard input")
    keep.add_argument("secret", metavar="NAME", help="for example OPENAI_API_KEY")
    keep.add_argument("surplus", nargs="*", help=argparse.SUPPRESS)
    added("list", "print the names, never a value")
    added("delete", "forget a value").add_argument("secret", metavar="NAME")
