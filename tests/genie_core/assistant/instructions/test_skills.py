from pathlib import Path

import pytest

from genie_core.assistant.instructions.skills import (
    DESCRIPTION_CHARS,
    MOST_LISTED,
    Skill,
    SkillReader,
    find_skills,
    misplaced_skills,
    skill_effects,
)
from genie_core.assistant.instructions.texts import TextFolder
from genie_core.assistant.tools.files.workspace import Workspace
from genie_core.room.engine.tool_effects import ToolEffects


def write(folder: Path, name: str, description: str = "Does it.", body: str = "How.") -> None:
    (folder / name).mkdir(parents=True)
    text = f"---\nname: {name}\ndescription: {description}\n---\n{body}"
    (folder / name / "SKILL.md").write_text(text)


@pytest.fixture
def folders(tmp_path: Path) -> list[TextFolder]:
    root, own = tmp_path / "workspace", tmp_path / "config"
    write(root / ".agents" / "skills", "release", "Makes a release.", "Tag it.")
    write(root / ".agents" / "skills", "both", "Theirs.", "their way")
    write(own / "skills", "both", "Mine.", "my way")
    return [TextFolder(own), TextFolder(root.resolve(), Workspace(root.resolve()))]


def test_own_skills_win(folders: list[TextFolder]) -> None:
    assert find_skills(folders) == (
        [Skill("both", "Mine.", is_own=True), Skill("release", "Makes a release.", is_own=False)],
        [],
    )


def test_what_is_wrong_with_a_skill_is_told(folders: list[TextFolder]) -> None:
    place = folders[1].root / ".agents" / "skills"
    write(place, "empty", "''")
    (place / "linked").symlink_to(place / "release")
    (place / "no skill").mkdir()
    (place / "unfinished").mkdir()
    skills, refused = find_skills(folders)
    assert [each.name for each in skills] == ["both", "release"]
    assert refused == [
        (
            ".agents/skills/empty/SKILL.md is not used: it has no description; begin it with a line "
            "---, a line 'description: ' and what it is for, and a line ---"
        ),
        ".agents/skills/linked/SKILL.md is not used: it is a link, or in a folder that is one",
    ]


def test_the_list_is_limited(tmp_path: Path) -> None:
    for number in range(MOST_LISTED + 5):
        write(tmp_path / "skills", f"s{number}", "x" * (DESCRIPTION_CHARS + 5))
    skills, refused = find_skills([TextFolder(tmp_path)])
    assert len(skills) == MOST_LISTED
    assert len(refused) == 5
    assert refused[
        0
    ] == "the skill s59 is not listed: a prompt has at most 50; remove some".replace(
        "s59", refused[0].split()[2]
    )
    assert len(skills[0].description) == DESCRIPTION_CHARS


@pytest.mark.parametrize(
    ("path", "cure"),
    [
        ("group/plan/SKILL.md", "move it to skills/plan/SKILL.md"),
        ("group/more/plan/SKILL.md", "move it to skills/plan/SKILL.md"),
        ("plan/skill.md", "rename it to SKILL.md"),
        ("plan/Skill.MD", "rename it to SKILL.md"),
        ("my plan/SKILL.md", "rename the folder 'my plan': it has letters, digits, - and _"),
        ("Gärten/skill.md", "rename the folder 'Gärten': it has letters, digits, - and _"),
        (".plan/SKILL.md", "rename the folder '.plan': it has letters, digits, - and _"),
        ("SKILL.md", "move it to skills/NAME/SKILL.md"),
        ("plan.md", "move it to skills/plan/SKILL.md"),
    ],
)
def test_misplaced_skill_is_named(tmp_path: Path, path: str, cure: str) -> None:
    write(tmp_path / "skills", "good")
    (tmp_path / "skills" / "good" / "docs").mkdir()
    (tmp_path / "skills" / "good" / "docs" / "SKILL.md").write_text("an example")
    (tmp_path / "skills" / "notes").mkdir()
    folders = [TextFolder(tmp_path)]
    assert misplaced_skills(folders) == []
    file = tmp_path / "skills" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("---\ndescription: x\n---\n")
    assert misplaced_skills(folders) == [f"skills/{path} is not used: {cure}"]
    assert [each.name for each in find_skills(folders)[0]] == ["good"]


def test_misplaced_skills_follow_no_link(folders: list[TextFolder], tmp_path: Path) -> None:
    place = folders[1].root / ".agents" / "skills"
    write(tmp_path / "elsewhere", "secret plan")
    (place / "out").symlink_to(tmp_path / "elsewhere")
    assert misplaced_skills(folders) == []


async def test_a_skill_and_its_files_are_read(folders: list[TextFolder]) -> None:
    (folders[1].root / ".agents/skills/release/docs").mkdir()
    (folders[1].root / ".agents/skills/release/docs/tags.md").write_text("v1")
    read = SkillReader(folders).read_skill
    assert (await read("release")).endswith("Tag it.")
    assert await read("release", "docs/tags.md") == "v1"
    assert (await read("both")).endswith("my way")


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("release", "../both/SKILL.md"),
        ("release", ".ssh/id_ed25519"),
        ("release", "notes/.env"),
        ("release", "/etc/passwd"),
        ("..", "SKILL.md"),
        ("release", "a\0b"),
        ("release", "absent.md"),
        ("absent", "SKILL.md"),
        ("release", "outside.md"),
        ("", ""),
    ],
)
async def test_nothing_else_is_read(folders: list[TextFolder], name: str, file: str) -> None:
    skill = folders[1].root / ".agents/skills/release"
    (skill / "outside.md").symlink_to("/etc/passwd")
    answer = await SkillReader(folders).read_skill(name, file)
    assert answer.startswith("I could not do that") or "root:" not in answer
    assert "How." not in answer
    assert "root:" not in answer


def test_workspace_skill_counts_as_others(folders: list[TextFolder]) -> None:
    effects = skill_effects(folders, "release", "SKILL.md")
    assert effects.targets("read") == (".agents/skills/release/SKILL.md",)
    assert effects.source == "the skill release of the workspace"
    assert skill_effects(folders, "both", "SKILL.md") == ToolEffects()
    assert skill_effects(folders, "absent", "SKILL.md") == ToolEffects()
    assert skill_effects(folders, "release", "../x").refusal
