"""`genie-tui completion`: complete commands and options in a shell."""

import argparse
from collections.abc import Iterator
from typing import Final

from genie_tui.cli.options import CommandParser, add_settings
from genie_tui.plugins import CommandCall

_HOW: Final = """\
Put it where your shell looks for completions:
  genie-tui completion bash > ~/.local/share/bash-completion/completions/genie-tui
  genie-tui completion zsh > ~/.zfunc/_genie-tui           # with fpath+=~/.zfunc in ~/.zshrc
  genie-tui completion fish > ~/.config/fish/completions/genie-tui.fish
"""


def add_completion(command: CommandParser) -> None:
    command.used = frozenset()
    add_settings(command)
    command.add_argument("shell", choices=("bash", "zsh", "fish"))
    command.epilog, command.formatter_class = _HOW, argparse.RawDescriptionHelpFormatter
    command.set_defaults(run=_run)


def _run(call: CommandCall) -> int:
    """Print the completion of all commands, also of installed plugins."""
    import shtab

    from genie_tui.cli.commands import parser

    top = parser()
    for action in _actions(top):
        if action.metavar in ("FILE", "SOURCE"):
            action.complete = shtab.FILE  # type: ignore[attr-defined] # shtab reads it
        elif action.metavar == "FOLDER":
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    call.stdout.write(shtab.complete(top, call.options.shell))
    return 0


def _actions(command: CommandParser) -> Iterator[argparse.Action]:
    yield from command.actions
    for part in command.parts.values():
        yield from _actions(part)
