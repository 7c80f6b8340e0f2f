"""`genie-tui backup` and `restore`: all that is a person's in one file, and back."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, TextIO

from genie_core.backup.errors import BackupError, NotRestorable
from genie_core.backup.restoring import Restored, restore_backup
from genie_core.backup.writing import write_backup
from genie_core.settings.locations import folder_at, short_path
from genie_core.settings.model import default_name
from genie_core.storage.atomic import reason
from genie_core.text.format import counted, file_size
from genie_tui.cli.options import INPUT_HELP, CommandParser, add_settings
from genie_tui.cli.output import safe_line
from genie_tui.cli.secrets import ask_secret, read_secret
from genie_tui.plugins import CommandCall

if TYPE_CHECKING:
    from genie_core.assistant.secrets import OwnSecrets

READABLE: Final = "the sessions in it can be read without the passphrase; keys, settings, secrets and invites can't"


class PassphrasesDiffer(BackupError):
    """The passphrase was typed in two different ways."""

    template = "the two passphrases differ; nothing was written"


def run_backup(call: CommandCall) -> int:
    """Write a backup; returns the exit code. Errors as `write_backup`, and `NoValue`."""
    path, out = folder_at(call.options.file), call.stdout
    passphrase = ask_passphrase(call.stdin, twice=True)
    report = write_backup(
        call.locations,
        _own_secrets(call),
        passphrase,
        path,
        time.time(),
        force=call.options.force,
    )
    call.stderr.writelines(f"genie-tui: {safe_line(note)}\n" for note in report.notes)
    parts = (
        counted(report.sessions, "session"),
        counted(report.keys, "key"),
        counted(report.secrets, "secret"),
        "your settings",
    )
    size = file_size(path.stat().st_size)
    out.write(f"{safe_line(short_path(path))} ({size}) has {', '.join(parts)}\n")
    out.write(f"{READABLE}\n")
    return 0


def run_restore(call: CommandCall) -> int:
    """Restore a backup; returns the exit code. Errors as `restore_backup`, and `NoValue`."""
    options, path = call.options, folder_at(call.options.file)
    try:
        source = path.open("rb")
    except OSError as error:
        raise NotRestorable(options.file, reason(error)) from error
    with source:
        passphrase = ask_passphrase(call.stdin, twice=False)
        secrets = _own_secrets(call)
        done = restore_backup(
            call.locations, secrets, passphrase, source, options.file, replace=options.replace
        )
    call.stderr.writelines(f"genie-tui: {safe_line(note)}\n" for note in done.notes)
    call.stdout.writelines(f"{safe_line(line)}\n" for line in restored_lines(done))
    return 0


def _own_secrets(call: CommandCall) -> "OwnSecrets":
    from genie_core.assistant.secrets import OwnSecrets

    return OwnSecrets(call.settings.name or default_name(), call.locations.secrets)


def restored_lines(done: Restored) -> Iterator[str]:
    """Describe a restore, in lines."""
    for each in done.sessions:
        yield f"restored: {each}"
    for each in (*done.files, *(f"the secret {name}" for name in done.secrets)):
        yield f"restored: {each}"
    for name, aside in done.replaced.items():
        yield f"replaced: {name}; the one that was here is {aside} now"
    for name in done.kept:
        yield f"kept: {name} is here already and stays as it is"
    if done.kept:
        yield "--replace puts the backup's in their place, and keeps files and sessions under other names"
    if not (done.sessions or done.files or done.secrets or done.kept):
        yield "everything in it is here already"


def ask_passphrase(given: TextIO, *, twice: bool) -> str:
    """Ask for a passphrase without echo, or read the first line of standard input."""
    if not given.isatty():
        return read_secret(given).partition("\n")[0]
    passphrase = ask_secret("passphrase")
    if twice and ask_secret("the same again") != passphrase:
        raise PassphrasesDiffer
    return passphrase


def add_backup(command: CommandParser) -> None:
    _add_common(command)
    command.add_argument("file", metavar="FILE", help="where to")
    command.add_argument("--force", action="store_true", help="replace a file that is there")
    command.set_defaults(run=run_backup)


def add_restore(command: CommandParser) -> None:
    _add_common(command)
    command.add_argument("file", metavar="FILE", help="what to read")
    command.add_argument(
        "--replace",
        action="store_true",
        help="replace what is here already, and keep it under another name",
    )
    command.set_defaults(run=run_restore)


def _add_common(command: CommandParser) -> None:
    command.used = frozenset({"name"})
    add_settings(command)
    command.epilog = INPUT_HELP
