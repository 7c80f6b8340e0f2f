from pathlib import Path

import pytest

from genie_core.assistant.instructions.commands import find_commands, misplaced_commands
from genie_core.assistant.instructions.texts import TextFolder
from genie_core.assistant.tools.files.workspace import Workspace
from genie_core.room.engine.controls import CustomCommand


def test_commands_of_both_folders_are_found(tmp_path: Path) -> None:
    own, root = tmp_path / "config", (tmp_path / "workspace").resolve()
    (own / "commands").mkdir(parents=True)
    (root / ".agents" / "commands").mkdir(parents=True)
    (own / "commands" / "fix.md").write_text("# Fix it\n\nFix $ARGUMENTS, then test.")
    theirs = root / ".agents" / "commands"
    (theirs / "fix.md").write_text("theirs")
    (theirs / "review.md").write_text("---\ndescription: Review a file\n---\nReview $ARGUMENTS.\n")
    (theirs / "empty.md").write_text("---\ndescription: x\n---\n")
    (theirs / "Not a name.md").write_text("x")
    (theirs / "notes.txt").write_text("x")
    (theirs / "linked.md").symlink_to(own / "commands" / "fix.md")
    commands, refused = find_commands([TextFolder(own), TextFolder(root, Workspace(root))])
    assert commands == [
        CustomCommand(
            "fix",
            "Fix it",
            "# Fix it\n\nFix $ARGUMENTS, then test.",
            "commands/fix.md",
            is_own=True,
        ),
        CustomCommand(
            "review",
            "Review a file",
            "Review $ARGUMENTS.",
            ".agents/commands/review.md",
            is_own=False,
        ),
    ]
    assert refused == [
        ".agents/commands/empty.md is not used: it is empty",
        ".agents/commands/linked.md is not used: it is a link, or in a folder that is one",
    ]
    assert misplaced_commands([TextFolder(own), TextFolder(root, Workspace(root))]) == [
        (
            ".agents/commands/Not a name.md is not used: rename it; a name has small letters, digits, "
            "- and _, and ends in .md"
        )
    ]


@pytest.mark.parametrize(
    ("path", "cure"),
    [
        ("Sow.md", "rename it; a name has small letters, digits, - and _, and ends in .md"),
        ("sow.MD", "rename it; a name has small letters, digits, - and _, and ends in .md"),
        ("sub/deep.md", "move it to commands"),
    ],
)
def test_misplaced_command_is_named(tmp_path: Path, path: str, cure: str) -> None:
    file = tmp_path / "commands" / path
    file.parent.mkdir(parents=True)
    file.write_text("x")
    (tmp_path / "commands" / "good.md").write_text("x")
    folders = [TextFolder(tmp_path)]
    assert misplaced_commands(folders) == [f"commands/{path} is not used: {cure}"]
    assert [each.name for each in find_commands(folders)[0]] == ["good"]


def test_arguments_fill_placeholder_or_end() -> None:
    def message(text: str, arguments: str) -> str:
        return CustomCommand("x", "", text, "x.md", is_own=True).message(arguments)

    assert message("Fix $ARGUMENTS and $ARGUMENTS.", "a b") == "Fix a b and a b."
    assert message("Fix $ARGUMENTS.", "") == "Fix ."
    assert message("Fix it.", "a.py") == "Fix it.\n\na.py"
    assert message("Fix it.", "") == "Fix it."
    assert message("Fix $ARGUMENTS.", "$ARGUMENTS") == "Fix $ARGUMENTS."
