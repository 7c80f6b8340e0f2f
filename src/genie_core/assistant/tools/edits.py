"""Writing and editing files of the workspace folder."""

import threading
from dataclasses import dataclass
from typing import Final

from genie_core.assistant.tools.changes import Change, planned_edit, planned_write
from genie_core.assistant.tools.said import counted, fenced, refusing, size
from genie_core.assistant.tools.workspace import Workspace

EDIT_TOOLS: Final = ("write_file", "edit_file")

_turn: Final = threading.Lock()
"""Held from reading a file to writing it, so that of two edits at once none is lost."""


@dataclass(frozen=True)
class Edits:
    """The tools that change files of one workspace. They answer what they refuse with a sentence.

    A call that was cancelled may still do all of its work, never half of it.
    """

    workspace: Workspace

    async def write_file(
        self,
        path: str,
        content: str,
        overwrite: bool = False,  # noqa: FBT001, FBT002 — a model passes tool arguments by name
    ) -> str:
        """Create a text file in the workspace, or replace a whole one.

        Args:
            path: Path relative to the workspace. Missing folders are made.
            content: The whole text of the file.
            overwrite: Replace the file if there is one. Without this it is left as it is.

        """
        return await refusing(self._write, path, content, overwrite=overwrite)

    async def edit_file(
        self,
        path: str,
        old: str,
        new: str,
        everywhere: bool = False,  # noqa: FBT001, FBT002 — a model passes tool arguments by name
    ) -> str:
        """Replace one piece of a text file in the workspace; answers with the difference made.

        Args:
            path: Path relative to the workspace.
            old: The text to replace, exactly as it is in the file. It must occur only once:
                include some of the lines around it.
            new: The text to put in its place. Empty takes the old one out.
            everywhere: Replace the text wherever it occurs.

        """
        return await refusing(self._edit, path, old, new, everywhere=everywhere)

    def _write(self, path: str, content: str, *, overwrite: bool) -> str:
        with _turn:
            change = planned_write(self.workspace, path, content, overwrite=overwrite)
            return self._made(change, replace=overwrite)

    def _edit(self, path: str, old: str, new: str, *, everywhere: bool) -> str:
        with _turn:
            change = planned_edit(self.workspace, path, old, new, everywhere=everywhere)
            return self._made(change, replace=True)

    def _made(self, change: Change, *, replace: bool) -> str:
        content = change.content
        self.workspace.write_bytes(change.file, content, replace=replace)
        name = self.workspace.name(change.file)
        lines = counted(len(change.after.splitlines()), "line")
        if change.before is None:
            return f"Wrote the new file {name} ({lines}, {size(len(content))})."
        difference = change.diff(name)
        if not difference:
            return f"{name} is as it was: that is what it contained."
        return "\n".join([f"Changed {name} (now {lines}):", *fenced(difference.split("\n"))])
