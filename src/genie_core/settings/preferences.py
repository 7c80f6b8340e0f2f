"""A person's answer preferences, stored in a file per name."""

import unicodedata
from pathlib import Path

from genie_core.datastore import path_name
from genie_core.errors import GenieError
from genie_core.privacy.redaction import secrets_in
from genie_core.room.protocol.events import PREFERENCE_CHARS
from genie_core.room.protocol.names import fold_name
from genie_core.storage.atomic import read_file, reason, replace_file
from genie_core.text.decoding import NotText, decode_text


class PreferencesError(GenieError):
    """Preferences can't be read, stored, or shared with the room."""


def preferences_file(folder: Path, name: str) -> Path:
    """Return a person's preferences file in the folder for all names."""
    return folder / f"{path_name(fold_name(name))}.txt"


def read_preferences(file: Path) -> str:
    """Return a file's text, cut to a room's limit; empty if there is none. Blocks.

    Raises:
        PreferencesError: the file can't be read or is not text.
    """
    try:
        return decode_text(read_file(file)).strip()[:PREFERENCE_CHARS]
    except FileNotFoundError:
        return ""
    except (OSError, NotText) as error:
        raise PreferencesError(f"{file} can't be read: {reason(error)}") from error


def keep_preferences(file: Path, text: str) -> None:
    """Write preferences to a file. Blocks.

    Raises:
        PreferencesError: the text must not be shared, or the file can't be written.
    """
    if problem := objection(text):
        raise PreferencesError(problem)
    try:
        if text or file.exists():
            replace_file(file, text.encode())
    except OSError as error:
        raise PreferencesError(f"{file} can't be written: {reason(error)}") from error


def objection(text: str) -> str:
    """Return why a text can't be a member's preferences; empty if it can."""
    if len(text) > PREFERENCE_CHARS:
        return f"{len(text):,} characters are too many; the limit is {PREFERENCE_CHARS:,}"
    if names := secrets_in(text):
        return f"all members could read your secret {', '.join(names)}: remove it"
    if any(unicodedata.category(char) == "Cs" for char in text):
        return "the text contains an invalid character"
    return ""
