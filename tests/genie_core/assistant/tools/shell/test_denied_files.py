"""Commands in a sandbox do not get the files that rules deny, whatever they do for it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from genie_core.assistant.config import Sandbox, ToolLimits
from genie_core.assistant.tools.files.workspace import PathRules, Workspace
from genie_core.assistant.tools.shell import sandbox as sandbox_module
from genie_core.assistant.tools.shell.command import Commands
from genie_core.assistant.tools.shell.sandbox import (
    Denied,
    SandboxBackend,
    find_backend,
    sandbox_command,
)

needs_bubblewrap = pytest.mark.skipif(
    find_backend().name != "bubblewrap", reason=find_backend().reason or "this is about bubblewrap"
)
SECRET = "hunter2"
DENIED = ("*.env", "secrets/*", "docs/key.txt")
READING = PathRules(DENIED, ())
WRITING = PathRules((), ("*.lock", "docs/*", "src/main.py"))

WAYS = [
    "cat prod.env",
    "cat ./sub/../prod.env",
    "cat sub/link/../prod.env",
    "cat harmless.txt",
    "cat hard.txt",
    "cat < prod.env",
    "cat /proc/self/cwd/prod.env",
    "cat /proc/self/root$PWD/prod.env",
    "cat /proc/1/cwd/prod.env /proc/1/root$PWD/prod.env",
    "cat *.e?v",
    'cat pro"d".env',
    "x=prod; cat $x.env",
    "cat $(echo prod).env",
    "cd sub && cat ../prod.env",
    "env -C sub cat ../prod.env",
    "exec 3< prod.env; cat /dev/fd/3",
    "cat secrets/token secrets/deep/token",
    "ls -R secrets; cat secrets/*",
    "cat docs/key.txt",
    "grep -r hunter .",
    "find . -type f -exec cat {} +",
    "tar cf - . | cat",
    "cp -r . /tmp/copy; grep -r hunter /tmp/copy",
    "cp prod.env x.txt; cat x.txt",
    "mv prod.env x.txt; cat x.txt",
    "ln prod.env x.txt; cat x.txt",
    "ln -s prod.env x.txt; cat x.txt",
    "mv docs x; cat x/key.txt",
    "mv secrets x; cat x/token",
    "chmod 644 prod.env; cat prod.env",
    "rm -f prod.env; umount prod.env; cat prod.env",
    "unshare -Urm sh -c 'umount prod.env; mount --bind . /mnt; cat prod.env /mnt/prod.env'",
    "git diff --no-index /dev/null prod.env",
    "rg --no-ignore --hidden hunter .",
    "sort prod.env; head prod.env; od -c prod.env; base64 prod.env",
    f"{sys.executable} -I -S -c \"print(open('prod' + '.env').read())\"",
    "dd if=prod.env",
    "mkdir y; mount --bind . y; cat y/prod.env",
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = (tmp_path / "work").resolve()
    for folder in ("sub", "real/deep", "secrets/deep", "docs", "src"):
        (root / folder).mkdir(parents=True)
    denied = ("prod.env", "real/prod.env", "secrets/token", "secrets/deep/token", "docs/key.txt")
    for name in denied:
        (root / name).write_text(f"TOKEN={SECRET}\n")
    os.link(root / "prod.env", root / "hard.txt")
    (root / "sub" / "link").symlink_to("../real/deep")
    (root / "harmless.txt").symlink_to("prod.env")
    (root / "notes.md").write_text("one\n")
    (root / "src" / "main.py").write_text("one\n")
    (root / "x.lock").write_text("one\n")
    return root


async def attempt(root: Path, line: str, rules: PathRules, sandbox: Sandbox | None = None) -> str:
    limits = ToolLimits(command_seconds=60.0, shell=True)  # noqa: S604 - a setting
    tool = Commands(Workspace(root, rules), limits, sandbox or Sandbox("required"))
    return await tool.run_command(line, "", True)


@needs_bubblewrap
@pytest.mark.parametrize("line", WAYS)
async def test_no_way_leads_to_a_denied_file(root: Path, line: str) -> None:
    said = await attempt(root, line, READING)
    assert "The command ended" in said
    assert SECRET not in said
    assert "aHVudGVyM" not in said
    assert (root / "prod.env").read_text() == f"TOKEN={SECRET}\n"
    assert (root / "docs" / "key.txt").exists()


@needs_bubblewrap
async def test_other_files_are_read_and_written(root: Path) -> None:
    line = "cat notes.md; echo new > docs/new.md; mv docs/new.md src/; echo more >> notes.md"
    assert "one" in await attempt(root, line, READING)
    assert (root / "src" / "new.md").read_text() == "new\n"
    assert (root / "notes.md").read_text() == "one\nmore\n"
    assert SECRET in await attempt(root, "cat prod.env hard.txt", PathRules(private=()))


@needs_bubblewrap
@pytest.mark.parametrize(
    "line",
    [
        "echo two > x.lock",
        "rm -f x.lock",
        "mv notes.md x.lock",
        "echo two > docs/new.md",
        "mkdir docs/new.md",
        "rm -rf docs",
        "mv docs other",
        "mv src other; mkdir src; echo two > src/main.py",
        "cd docs; touch new.md",
        "ln notes.md docs/new.md",
        "chmod -R 777 docs x.lock",
    ],
)
async def test_files_with_denied_writing_stay(root: Path, line: str) -> None:
    await attempt(root, line, WRITING)
    assert (root / "x.lock").read_text() == "one\n"
    assert (root / "src" / "main.py").read_text() == "one\n"
    assert [*(root / "docs").iterdir()] == [root / "docs" / "key.txt"]
    assert "TOKEN" in await attempt(root, "cat docs/key.txt", WRITING)


@needs_bubblewrap
async def test_unnamed_private_files_are_empty(root: Path) -> None:
    (root / ".env").write_text(SECRET)
    (root / ".venv").mkdir()
    (root / ".venv" / "ca.pem").write_text("certificate")
    rules = PathRules()
    assert SECRET not in await attempt(root, "cat .e*v; cat prod.e*; false", rules)
    said = await attempt(root, "cat .venv/ca.*; cat *.md; grep -r hunter src .env*; false", rules)
    assert "certificate" in said
    assert "one" in said
    assert "Empty there as private: `.env`" in said
    assert SECRET in await attempt(root, "cat .env", rules)
    readable = Sandbox("required", readable=(root / ".env",))
    assert SECRET in await attempt(root, "cat .e*", rules, readable)
    assert (root / ".env").read_text() == SECRET


@needs_bubblewrap
@pytest.mark.skipif(not shutil.which("git"), reason="Git is not installed")
async def test_private_files_in_the_index_of_git_stay(root: Path) -> None:
    (root / "sub" / "b.pem").write_text("fixture")
    (root / "b.pem").write_text(SECRET)
    for words in (["init", "-q"], ["add", "sub/b.pem"]):
        subprocess.run(["git", *words], cwd=root, check=True)
    said = await attempt(root, "cat sub/b.p* b.p*; git status --short sub/b.p*", PathRules())
    assert "fixture" in said
    assert "A  sub/b.pem" in said
    assert SECRET not in said


@needs_bubblewrap
async def test_too_many_denied_files_run_nothing(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox_module, "MOST_DENIED", 2)
    said = await attempt(root, "echo ran", READING)
    assert "use patterns for whole folders" in said
    assert "ran\n" not in said


def test_a_profile_of_macos_denies_them_too(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = SandboxBackend("seatbelt", program="/sb")
    monkeypatch.setattr("genie_core.assistant.tools.shell.sandbox.find_backend", lambda: backend)
    denied = Denied([root / "prod.env"], [root / "docs"], [root / "a.pem"])
    _, _, profile, *_ = sandbox_command(Sandbox(), root, root, denied=denied)
    for path in ("prod.env", "a.pem"):
        assert f'(deny file-read* file-write* (subpath "{root}/{path}"))' in profile
    assert f'(deny file-write* (subpath "{root}/docs"))' in profile
    assert profile.index(f'(subpath "{root}"))') < profile.index(f'(subpath "{root}/docs"))')
