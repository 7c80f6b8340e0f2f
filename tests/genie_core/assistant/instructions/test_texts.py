"""Texts for agents are read from two folders and from nowhere else."""

import os
from pathlib import Path

import pytest

from genie_core.assistant.instructions.texts import (
    LONGEST,
    LONGEST_FRONT_MATTER,
    MOST_ENTRIES,
    TextFolder,
    TextRefused,
    front_matter,
)
from genie_core.assistant.tools.files.workspace import PathRules, Workspace


def of_workspace(root: Path, rules: PathRules | None = None) -> TextFolder:
    root = root.resolve()
    return TextFolder(root, Workspace(root, rules or PathRules()))


def test_a_missing_file_and_folder_are_no_error(tmp_path: Path) -> None:
    for folder in (of_workspace(tmp_path), TextFolder(tmp_path / "absent")):
        assert folder.read("AGENTS.md") is None
        assert folder.entries("skills") == []


@pytest.mark.parametrize("target", ["outside", "inside"])
def test_a_link_in_a_workspace_is_refused(tmp_path: Path, target: str) -> None:
    root = tmp_path / "workspace"
    root.mkdir()
    (tmp_path / "outside").write_text("secret")
    (root / "inside").write_text("public")
    (root / "AGENTS.md").symlink_to(tmp_path / "outside" if target == "outside" else "inside")
    with pytest.raises(TextRefused, match=r"AGENTS\.md is not used: it is a link"):
        of_workspace(root).read("AGENTS.md")


def test_linked_folder_is_refused(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "workspace", tmp_path / "elsewhere"
    root.mkdir()
    (elsewhere / "commands").mkdir(parents=True)
    (elsewhere / "commands" / "x.md").write_text("secret")
    (root / ".agents").symlink_to(elsewhere)
    folder = of_workspace(root)
    assert folder.entries(".agents", "commands") == []
    with pytest.raises(TextRefused, match="link"):
        folder.read(".agents", "commands", "x.md")


def test_a_link_in_the_own_folder_is_followed(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles" / "mine.md").write_text("be brief")
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "AGENTS.md").symlink_to(tmp_path / "dotfiles" / "mine.md")
    assert TextFolder(tmp_path / "config").read("AGENTS.md") == "be brief"


def test_a_denied_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("x")
    with pytest.raises(TextRefused, match="a rule denies reading it"):
        of_workspace(tmp_path, PathRules(unread=("agents.md",))).read("AGENTS.md")


def test_a_long_text_is_cut_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("é" * LONGEST)
    text = of_workspace(tmp_path).read("AGENTS.md")
    assert text is not None
    assert text.startswith("é" * (LONGEST // 2))
    assert text.endswith("[cut: only 32,768 bytes are used]")


@pytest.mark.parametrize("content", [b"\0\1\2", b"\xff\xfe\xfa"])
def test_what_is_no_text_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "AGENTS.md").write_bytes(content)
    with pytest.raises(TextRefused, match=r"not UTF-8 text.*; save it as UTF-8"):
        of_workspace(tmp_path).read("AGENTS.md")


def test_a_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "AGENTS.md")
    for folder in (of_workspace(tmp_path), TextFolder(tmp_path)):
        with pytest.raises(TextRefused, match="not a file"):
            folder.read("AGENTS.md")


def test_the_number_of_entries_is_limited(tmp_path: Path) -> None:
    for number in range(MOST_ENTRIES + 5):
        (tmp_path / f"c{number}").write_text("")
    assert len(TextFolder(tmp_path).entries()) == MOST_ENTRIES


def test_front_matter_is_read_as_single_lines() -> None:
    text = "---\nname: x\ndescription: >-\n  One\n  line\nmetadata: [1]\n---\n\nBody\n---\nmore"
    values, body = front_matter(text, "f")
    assert values == {"name": "x", "description": "One line", "metadata": ""}
    assert body == "\nBody\n---\nmore"
    assert front_matter("no front matter", "f") == ({}, "no front matter")


@pytest.mark.parametrize(
    "head",
    [
        "description: Garden care: watering",
        'description: "Garden care: watering"',
        "name: x\nargument-hint: [bed]\ndescription: Garden care: watering",
        "description: Garden care:\n  watering\nallowed-tools: Bash(git status:*)",
        "description: >-\n  Garden care:\n  watering\nargument-hint: a: b",
        "allowed-tools:\n- Read: x: y\n- Grep\ndescription: Garden care: watering",
        "description: Garden care: watering\n\nauthor: ann",
    ],
)
@pytest.mark.parametrize("before", ["", "\n", " \n\r\n"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_front_matter_of_people_is_read(head: str, before: str, end: str) -> None:
    text = f"{before}---\n{head}\n---\nBody\n".replace("\n", end)
    values, body = front_matter(text, "f")
    assert values["description"] == "Garden care: watering"
    assert body.strip() == "Body"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("pad", [0, 1])
def test_texts_of_editors_are_read(tmp_path: Path, encoding: str, pad: int) -> None:
    mark = "\ufeff" if encoding.endswith("be") else ""
    file = tmp_path / "AGENTS.md"
    file.write_bytes(f"{mark}Grüße\r\n".encode(encoding))
    assert TextFolder(tmp_path).read("AGENTS.md") == "Grüße\r\n"
    file.write_bytes(f"{mark}{'a' * pad}{'é' * LONGEST}".encode(encoding))
    text = TextFolder(tmp_path).read("AGENTS.md") or ""
    assert text.startswith("a" * pad + "éé")
    assert text.endswith("[cut: only 32,768 bytes are used]")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("---\nname: x", "no end"),
        ("---\n{a: [\n---\n", "no valid YAML"),
        ("---\n- a\n---\n", "no names"),
        ("---\n" + "[" * 5_000 + "\n---\n", "no valid YAML"),
        ("---\n[a]: b\n---\n", "no valid YAML"),
        ("---\na: &a [*a]\n---\n", "no valid YAML"),
        (f"---\na: {'x' * LONGEST_FRONT_MATTER}\n---\n", "longer than"),
    ],
)
def test_wrong_front_matter_is_named(text: str, why: str) -> None:
    with pytest.raises(TextRefused, match=f"f is not used: .*{why}"):
        front_matter(text, "f")


@pytest.mark.parametrize("value", ["!!int ''", "!!bool x", "!!timestamp x", "2026-99-99", "x"])
def test_tagged_values_stay_text(value: str) -> None:
    values, body = front_matter(f"---\nname: {value}\ndescription: x\n---\nBody", "f")
    assert values["description"] == "x"
    assert body == "Body"


def test_aliases_do_not_expand() -> None:
    merged = [f"a{at}: &a{at} {{<<: [{', '.join([f'*a{at - 1}'] * 9)}]}}" for at in range(1, 30)]
    text = "\n".join(["---", "a0: &a0 {k: v}", *merged, "description: x", "---", ""])
    assert front_matter(text, "f")[0]["description"] == "x"
