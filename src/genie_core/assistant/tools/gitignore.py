"""Which files and folders of a workspace Git ignores.

How long matching takes depends on the patterns, which come with the files: match them where the
work can be ended (`isolated`).
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from pathspec import GitIgnoreSpec

from genie_core.assistant.tools.confined import folder_at, take_file
from genie_core.assistant.tools.workspace import Workspace

MAX_RULES_BYTES: Final = 100_000


class IgnoreRules:
    """The rules that hold in one folder, those of the folders above it included."""

    def __init__(self, levels: tuple[tuple[Path, GitIgnoreSpec], ...] = ()) -> None:
        self._levels = levels

    def extended(self, folder: Path, rules: bytes) -> "IgnoreRules":
        """Add the rules that a file in `folder` contains; they win over those so far."""
        lines = rules.decode("utf-8-sig", "replace").splitlines()
        patterns = [line for line in lines if line.strip() and not line.startswith("#")]
        if not patterns:
            return self
        return IgnoreRules((*self._levels, (folder, _compiled(patterns))))

    def ignore(self, path: Path, *, folder: bool) -> bool:
        """Whether the rules exclude a file or folder; the last rule that fits decides."""
        for base, spec in reversed(self._levels):
            name = path.relative_to(base).as_posix()
            excluded = spec.check_file(f"{name}/" if folder else name).include
            if excluded is not None:
                return excluded
        return False


def rules_above(workspace: Workspace, folder: Path) -> IgnoreRules:
    """Return the rules that the folders above a folder of the workspace have for its contents.

    Git's files count from the top of the repository, also above the workspace. Rules that exclude
    the folder itself, or one above it, do not count, since the folder was asked for by name.
    """
    chain = [folder, *folder.parents]
    top = next((at for at, place in enumerate(chain) if os.path.lexists(place / ".git")), 0)
    inside = len(folder.relative_to(workspace.root).parts)
    rules = IgnoreRules()
    for place in reversed(chain[: max(inside, top) + 1]):
        rules = IgnoreRules() if rules.ignore(place, folder=True) else rules
        rules = rules if place == folder else with_own_rules(rules, workspace, place)
    return rules


def with_own_rules(rules: IgnoreRules, workspace: Workspace, folder: Path) -> IgnoreRules:
    """Add the rules in the folder's own `.git/info/exclude` and `.gitignore`."""
    root = workspace.root if folder.is_relative_to(workspace.root) else folder
    below = folder.relative_to(root).parts
    for parts, name in (((*below, ".git", "info"), "exclude"), (below, ".gitignore")):
        with suppress(OSError), folder_at(root, parts) as descriptor:
            rules = rules.extended(folder, take_file(descriptor, name, MAX_RULES_BYTES))
    return rules


def _compiled(patterns: list[str]) -> GitIgnoreSpec:
    """Compile the patterns that are valid; Git, too, passes over the others."""
    sound = []
    for pattern in patterns:
        with suppress(ValueError):
            GitIgnoreSpec.from_lines([pattern])
            sound.append(pattern)
    return GitIgnoreSpec.from_lines(sound)
