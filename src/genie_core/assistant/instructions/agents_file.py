"""The file AGENTS.md of a workspace, and of a person's own folder."""

from collections.abc import Sequence
from typing import Final

from genie_core.assistant.instructions.texts import TextFolder, TextRefused

AGENTS_FILE: Final = "AGENTS.md"


def read_agents_files(
    folders: Sequence[TextFolder],
) -> tuple[list[tuple[TextFolder, str]], list[str]]:
    """Return each folder's text, and why others are left out. Blocks."""
    texts, refused = list[tuple[TextFolder, str]](), list[str]()
    for folder in folders:
        try:
            text = (folder.read(AGENTS_FILE) or "").strip()
        except TextRefused as refusal:
            refused.append(str(refusal))
        else:
            texts += [(folder, text)] if text else []
    return texts, refused
