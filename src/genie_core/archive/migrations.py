"""How the record of a saved room from an earlier version becomes one of this version.

There is one step for each version, which knows nothing of the steps around it. Steps change only
what is in memory: the file is written anew when its room is opened.
"""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

FORMAT: Final = 2
"""Version of the folder's layout and of `room.json`."""

OLDEST: Final = 1

Fields: TypeAlias = dict[str, Any]


def _to_2(fields: Fields) -> Fields:
    """Version 2 knows tags, a title of one's own, and more of what the log amounts to.

    What had been seen is not known, so all that was there counts as seen.
    """
    return {**fields, "tags": [], "alias": "", "parked": 0, "preview": "", "head": 0, "seen": 0}


STEPS: Final[dict[int, Callable[[Fields], Fields]]] = {1: _to_2}
"""The step that leads from each version to the next."""


def migrate(fields: Fields, version: int) -> Fields:
    """Bring what a record of a known version says to the present one; the original stays as it is.

    Raises:
        ValueError: there never was such a version.

    """
    if not OLDEST <= version <= FORMAT:
        raise ValueError(f"there is no format {version}")
    for step in range(version, FORMAT):
        fields = STEPS[step](fields)
    return {**fields, "version": FORMAT}
