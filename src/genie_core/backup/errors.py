"""Errors of backups.

BackupError
├── NotRestorable     a file is no backup, or is damaged
├── WrongPassphrase   the passphrase does not open it, or it was changed
└── WeakPassphrase    a passphrase is too short to protect keys
"""

from genie_core.errors import GenieError


class BackupError(GenieError):
    """Root of the errors of backups."""


class NotRestorable(BackupError):
    """A file is no backup, or is damaged. Nothing has changed."""

    template = "{name} can't be restored: {why}; nothing has changed"
    name: str
    why: str


class WrongPassphrase(BackupError):
    """The passphrase does not open a backup, or its encrypted part was changed."""

    template = (
        "the passphrase does not open {name}, or the file was changed; nothing has changed here"
    )
    name: str


class WeakPassphrase(BackupError):
    """A passphrase is too short."""

    template = "the passphrase protects your keys; it needs at least {least} characters"
    least: int
