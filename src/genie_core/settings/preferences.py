"""How a person likes to be answered, in a file of their own."""

import unicodedata
from pathlib import Path

from genie_core.datastore import path_name
from genie_core.errors import GenieError
from genie_core.privacy.redaction import secrets_in
from genie_core.room.protocol.events import PREFERENCE_CHARS
from genie_core.room.protocol.names import fold_name
from genie_core.storage.atomic import read_file, reason, replace_file


class PreferencesError(GenieError):
    """Preferences that can't be read, kept, or told to others."""


def preferences_file(folder: Path, name: str) -> Path:
    """Where a person's preferences are, below the folder for all."""
    return folder / f"{path_name(fold_name(name))}.txt"


def read_preferences(file: Path) -> str:
    """Return what a file says, as much of it as a room takes; nothing if there is none. Blocks.

    Raises:
        PreferencesError: the file can't be read, or is no text.

    """
    try:
        return read_file(file).decode("utf-8").strip()[:PREFERENCE_CHARS]
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError:
        raise PreferencesError(f"{file} is no text; save it as UTF-8") from None
    except OSError as error:
        raise PreferencesError(f"{file} can't be read: {reason(error)}") from error


def keep_preferences(file: Path, text: str) -> None:
    """Write them down. Blocks.

    Raises:
        PreferencesError: they can't be told to others, or the file can't be written.

    """
    if problem := objection(text):
        raise PreferencesError(problem)
    try:
        if text or file.exists():
            replace_file(file, text.encode())
    except OSError as error:
        raise PreferencesError(f"{file} can't be written: {reason(error)}") from error


def objection(text: str) -> str:
    """Why a text can't be a member's preferences; empty if it can."""
    if len(text) > PREFERENCE_CHARS:
        return f"{len(text):,} characters are too many: at most {PREFERENCE_CHARS:,}"
    if names := secrets_in(text):
        return f"everybody could read your secret {', '.join(names)}: take it out"
    if any(unicodedata.category(char) == "Cs" for char in text):
        return "a character in it is broken"
    return ""
