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

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name} can't be restored: {why}; nothing has changed")
        self.name = name
        self.why = why


class WrongPassphrase(BackupError):
    """The passphrase does not open a backup, or its encrypted part was changed."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the passphrase does not open {name}, or the file was changed; nothing has changed here"
        )
        self.name = name


class WeakPassphrase(BackupError):
    """A passphrase is too short."""

    def __init__(self, least: int) -> None:
        super().__init__(f"the passphrase protects your keys; it needs at least {least} characters")
        self.least = least
