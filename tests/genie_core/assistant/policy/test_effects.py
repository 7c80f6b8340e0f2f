"""Rules hold to what a call would do."""

import os
from pathlib import Path
from typing import Any, Literal

import pytest

from genie_core.agent.approval import shown_original
from genie_core.assistant.build import build_assistant
from genie_core.assistant.config import AssistantConfig, Rule, Sandbox
from genie_core.assistant.policy.effects import effects_of
from genie_core.assistant.policy.policy import Policy, path_rules
from genie_core.assistant.tools.catalog import FILE_TOOLS, RISKS
from genie_core.assistant.tools.files.edit import Edits, TextEdit
from genie_core.assistant.tools.files.files import Files
from genie_core.assistant.tools.files.workspace import Workspace
from genie_core.assistant.tools.shell.sandbox import find_backend
from genie_core.room.engine.approval_policy import PolicyResult, Risk, ToolCall
from genie_core.room.engine.tool_effects import ToolEffect, ToolEffects

NO_ENV = Rule("deny", path="*.env")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "prod.env").write_text("TOKEN=hunter2\n")
    (tmp_path / "notes.md").write_text("one\ntwo\n")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("TOKEN is a word\n")
    return tmp_path


def judge(root: Path, *rules: Rule, tool: str, **arguments: Any) -> PolicyResult:
    built = build_assistant(AssistantConfig(workspace=root, rules=rules), owner="ann")
    return built.policy.evaluate(ToolCall("ann", "system", tool, arguments))


def confined(root: Path, *rules: Rule) -> Workspace:
    own = path_rules(rules, "system", RISKS.__getitem__, FILE_TOOLS)
    return Workspace(root.resolve(), own)


@pytest.mark.parametrize("rule", [NO_ENV, Rule("deny", arguments={"path": "*.env"})])
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_file", {"path": "prod.env"}),
        ("read_file", {"path": "docs/../prod.env"}),
        ("read_file", {"path": "./PROD.env"}),
        ("write_file", {"path": "new.env", "content": ""}),
        ("edit_file", {"path": "prod.env", "old": "T", "new": "t"}),
    ],
)
def test_a_denied_path_is_denied_to_every_tool(
    root: Path, rule: Rule, tool: str, arguments: dict[str, Any]
) -> None:
    if arguments["path"] == "./PROD.env":
        (root / "PROD.env").write_text("")
    assert judge(root, rule, tool=tool, **arguments).effect == "deny"


@pytest.mark.parametrize("rule", [NO_ENV, Rule("deny", arguments={"path": "*.env"})])
async def test_a_denied_path_is_opened_by_no_tool(root: Path, rule: Rule) -> None:
    workspace = confined(root, rule)
    (root / "link.txt").symlink_to("prod.env")
    texts = [
        await Files(workspace).read_file("prod.env"),
        await Files(workspace).read_file("link.txt"),
        await Files(workspace).search_files("token"),
        await Files(workspace).search_files("token", "prod.env"),
        await Files(workspace).grep_files("TOKEN"),
        await Files(workspace).grep_files("TOKEN", "prod.env"),
        await Edits(workspace).edit_file("prod.env", "TOKEN", "x"),
    ]
    assert not any("hunter2" in text for text in texts)
    assert "a rule denies it" in texts[0]
    assert "Not readable: `prod.env`" in texts[3]
    assert (root / "prod.env").read_text() == "TOKEN=hunter2\n"


async def test_search_skips_private_files(root: Path) -> None:
    found = await Files(confined(root)).grep_files("TOKEN")
    assert "docs/a.md" in found
    assert "hunter2" not in found
    assert "Left out as private: `prod.env`" in found
    assert "hunter2" in await Files(confined(root)).grep_files("TOKEN", "prod.env")


async def test_search_skips_files_to_ask_about(root: Path) -> None:
    found = await Files(confined(root, Rule("ask", path="docs/*"))).grep_files("TOKEN")
    assert "is a word" not in found
    assert "`docs/a.md`" in found


def test_a_command_reads_the_files_that_it_names(root: Path) -> None:
    allowed = Rule("allow", command="cat *")
    result = judge(root, allowed, NO_ENV, tool="run_command", command="cat ./prod.env")
    assert result.effect == "deny"
    assert result.effects.known == (
        ToolEffect("run", "cat ./prod.env"), ToolEffect("read", "prod.env")
    )  # fmt: skip
    assert (
        judge(root, allowed, NO_ENV, tool="run_command", command="cat notes.md").effect == "allow"
    )


@pytest.mark.parametrize("by", [{"command": "git push*"}, {"arguments": {"command": "git push*"}}])
@pytest.mark.parametrize("command", ["git  push", "git -C . push", 'git "push"'])
def test_denied_command_is_always_found(root: Path, by: dict[str, Any], command: str) -> None:
    rules = Rule("allow", arguments={"command": "git *"}), Rule("deny", **by)
    assert judge(root, *rules, tool="run_command", command=command).effect == "deny"


def test_allowed_program_runs_no_other(root: Path) -> None:
    for rule in (Rule("allow", command="git *"), Rule("allow", arguments={"command": "git *"})):
        asked = judge(root, rule, tool="run_command", command="git -c alias.x=!id x")
        assert asked.effect == "ask"
        assert asked.effects.anything
        assert judge(root, rule, tool="run_command", command="git status").effect == "allow"


@pytest.mark.parametrize(
    ("url", "effect"),
    [
        ("https://docs.example.org/a", "allow"),
        ("https://docs.example.org:8443/a", "allow"),
        ("https://docs.example.org.evil.com/", "ask"),
        ("https://evil.com/?docs.example.org", "ask"),
        ("https://docs.example.org@evil.com/", "ask"),
        ("https://evil.com/https://docs.example.org/", "ask"),
        ("http://LOCALHOST:80/", "deny"),
        ("http://localhost./", "deny"),
    ],
)
def test_hosts_are_compared_by_themselves(root: Path, url: str, effect: str) -> None:
    rules = Rule("allow", host="docs.example.org"), Rule("deny", host="*localhost*")
    assert judge(root, *rules, tool="fetch_url", url=url).effect == effect


def test_path_rule_allows_only_that_path(root: Path) -> None:
    rule = Rule("allow", path="docs/*")
    assert judge(root, rule, tool="write_file", path="docs/b.md", content="x").effect == "allow"
    assert judge(root, rule, tool="write_file", path="docs/../b.md", content="x").effect == "ask"
    assert judge(root, rule, tool="run_command", command="rm docs/a.md").effect == "ask"
    assert judge(root, rule, tool="fetch_url", url="https://x.org/docs/a").effect == "ask"
    assert judge(root, rule, tool="exec", path="docs/a").effect == "ask"


def test_whole_change_is_shown(root: Path) -> None:
    long = "".join(f"line {number} {'x' * 500}\n" for number in range(1500))
    result = judge(root, tool="write_file", path="notes.md", content=long, overwrite=True)
    assert "-one" in result.effects.diff
    assert result.effects.diff.count("\n+line") == 1500
    assert "x" * 500 in result.effects.diff
    edit = judge(root, tool="edit_file", path="notes.md", old="two", new="2")
    assert edit.effects.diff == "--- notes.md\n+++ notes.md\n@@ -1,2 +1,2 @@\n one\n-two\n+2"


def test_refused_change_says_why(root: Path) -> None:
    result = judge(root, tool="edit_file", path="notes.md", old="three", new="3")
    assert "does not contain the old text" in result.effects.refusal
    assert "outside the workspace" in judge(root, tool="read_file", path="../x").effects.refusal


async def test_changed_file_stops_edit(root: Path) -> None:
    shown = judge(root, tool="edit_file", path="notes.md", old="two", new="2").effects
    shown_original.set(shown.original)
    (root / "notes.md").write_text("one\ntwo\nthree\n")
    assert "has changed since" in await Edits(Workspace.at(root)).edit_file("notes.md", "two", "2")
    assert (root / "notes.md").read_text() == "one\ntwo\nthree\n"


async def test_retargeted_link_stops_write(root: Path) -> None:
    (root / "keys").mkdir()
    (root / "out").symlink_to("docs")
    shown = judge(root, tool="write_file", path="out/new.txt", content="x").effects
    shown_original.set(shown.original)
    (root / "out").unlink()
    (root / "out").symlink_to("keys")
    assert "has changed since" in await Edits(Workspace.at(root)).write_file("out/new.txt", "x")
    assert not (root / "keys" / "new.txt").exists()


@pytest.mark.parametrize("path", ["new.md", "way-out"])
async def test_refused_change_is_not_made_later(root: Path, path: str) -> None:
    (root / "way-out").symlink_to("../outside")
    workspace = Workspace.at(root)
    given = {"path": path, "old": "one", "new": "1"}
    call = ToolCall("ann", "system", "edit_file", given)
    shown = effects_of(workspace, call, "write")
    assert shown.refusal
    shown_original.set(shown.original)
    (root / "way-out").unlink()
    (root / path).write_text("one\n")
    assert "has changed since" in await Edits(workspace).edit_file(path, "one", "1")
    assert (root / path).read_text() == "one\n"
    shown = effects_of(workspace, call, "write")
    assert not shown.refusal
    shown_original.set(shown.original)
    assert "Changed" in await Edits(workspace).edit_file(path, "one", "1")


@pytest.mark.parametrize(("tool", "arguments", "pattern"), [
    ("run_command", {"command": "git log -3"}, "git log*"),
    ("run_command", {"command": "ls"}, "ls *"),
    ("run_command", {"command": "ls -l"}, "ls *"),
    ("run_command", {"command": "sh -c id"}, ""),
    ("fetch_url", {"url": "https://a@b.org/x"}, "b.org"),
    ("fetch_url", {"url": "https://[::1]/"}, "::1"),
    ("write_file", {"path": "docs/b.md", "content": ""}, "docs/*"),
    ("write_file", {"path": "d[1]/b.md", "content": ""}, "d[[]1]/*"),
    ("write_file", {"path": "*", "content": ""}, "[*]"),
])  # fmt: skip
def test_a_suggested_pattern_covers_the_call(
    root: Path, tool: str, arguments: dict[str, str], pattern: str
) -> None:
    policy = build_assistant(AssistantConfig(workspace=root), owner="ann").policy
    call = ToolCall("ann", "system", tool, dict(arguments))
    effects = policy.evaluate(call).effects
    assert effects.pattern == pattern
    assert not pattern or policy.is_covered(call, effects, pattern)


def test_uninspectable_command_is_judged(root: Path) -> None:
    (root / "bad").symlink_to("a" * 300)
    rules = NO_ENV, Rule("allow", "run_command"), Rule("deny", command="git push*")
    assert judge(root, *rules, tool="run_command", command="git push bad").effect == "deny"
    assert judge(root, *rules, tool="run_command", command="cat prod.env bad").effect == "deny"
    assert judge(root, *rules, tool="run_command", command="cat bad").effect == "allow"


def test_unresolved_call_denies_or_asks() -> None:
    def failing(call: ToolCall, risk: Risk) -> ToolEffects:
        raise OSError("the disk is away")

    call = ToolCall("ann", "system", "run_command", {"command": "ls"})
    allowing = Rule("allow", "run_command")
    denying = Policy((allowing, NO_ENV), lambda agent, tool: "execute", effects_of=failing)
    assert denying.evaluate(call).effect == "deny"
    result = Policy((allowing,), lambda agent, tool: "execute", effects_of=failing).evaluate(call)
    assert (result.effect, result.must_ask) == ("ask", True)
    assert "the disk is away" in result.because


@pytest.mark.parametrize(
    ("path", "rules", "effect"),
    [
        (".github/ci.yml", [], "allow"),
        (".gitignore", [], "allow"),
        (".venv/lib/a.py", [], "allow"),
        (".mine/notes", [], "ask"),
        ("docs/.draft", [], "ask"),
        (".mine/notes", [Rule("allow", "read_file")], "ask"),
        (".mine/notes", [Rule("allow", path="*")], "ask"),
        (".mine/notes", [Rule("allow", arguments={"path": "*"})], "ask"),
        (".mine/notes", [Rule("allow", path=".mine/*")], "allow"),
        (".mine/notes", [Rule("allow", arguments={"path": ".mine/*"})], "allow"),
        (".mine/notes", [Rule("deny", path=".mine/*")], "deny"),
        (".github/ci.yml", [Rule("deny", path=".github/*")], "deny"),
    ],
)
def test_unusual_hidden_files_are_asked(
    root: Path, path: str, rules: list[Rule], effect: str
) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text("x")
    assert judge(root, *rules, tool="read_file", path=path).effect == effect
    if effect != "deny":
        assert not judge(root, *rules, tool="read_file", path=path).effects.refusal


@pytest.mark.parametrize("path", [".env", ".git/config", ".ssh/id", "docs/.netrc", "harmless.txt"])
async def test_hidden_credentials_are_refused(root: Path, path: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    if path == "harmless.txt":
        (root / ".envrc").write_text("TOKEN=x")
        (root / path).symlink_to(".envrc")
    else:
        (root / path).write_text("TOKEN=x")
    result = judge(root, Rule("allow", path=path), tool="read_file", path=path)
    assert "can't be used" in result.effects.refusal
    assert "TOKEN" not in await Files(Workspace.at(root)).read_file(path)


def test_folder_pattern_excludes_hidden(root: Path) -> None:
    (root / "docs" / ".draft").write_text("x")
    built = build_assistant(AssistantConfig(workspace=root), owner="ann")
    call = ToolCall("ann", "system", "edit_file", {"path": "docs/.draft", "old": "x", "new": "y"})
    effects = built.policy.evaluate(call).effects
    assert effects.hidden
    assert not built.policy.is_covered(call, effects, "docs/*")
    assert built.policy.is_covered(call, effects, "docs/.draft")


def test_move_and_deletion_show_effects(root: Path) -> None:
    effects = judge(root, tool="move_file", path="notes.md", to="docs").effects
    assert [str(each) for each in effects.known] == [
        "writes notes.md",
        "writes docs/notes.md",
        "reads notes.md",
    ]
    assert effects.diff == "--- notes.md\n+++ docs/notes.md\nmoved to docs/notes.md as it is"
    result = judge(root, tool="delete_file", path="notes.md")
    assert (result.effect, result.risk) == ("ask", "write")
    assert result.effects.diff.startswith("--- notes.md\n+++ notes.md\ndeleted\n@@ ")
    assert result.effects.diff.endswith("-one\n-two")
    assert "already exists" in judge(root, tool="move_file", path="notes.md", to="prod.env").effects.refusal  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "effect"),
    [
        (Rule("allow", path="docs/*"), "ask"),
        (Rule("allow", "move_file", arguments={"path": "docs/*"}), "ask"),
        (Rule("allow", risk="write", arguments={"path": "*.md"}), "allow"),
        (Rule("allow", "move_file", arguments={"path": "docs/*", "to": "*.md"}), "allow"),
        (Rule("allow", path="*.md"), "allow"),
        (Rule("deny", path="elsewhere*"), "deny"),
        (Rule("deny", arguments={"to": "elsewhere*"}), "deny"),
    ],
)
def test_a_rule_must_cover_both_places_of_a_move(root: Path, rule: Rule, effect: str) -> None:
    judged = judge(root, rule, tool="move_file", path="docs/a.md", to="elsewhere.md")
    assert judged.effect == effect


EDITS = [
    {"path": "notes.md", "old": "one", "new": "1"},
    {"path": "docs/a.md", "old": "TOKEN", "new": "x"},
]


@pytest.mark.parametrize(
    ("rule", "effect"),
    [
        (Rule("allow", path="docs/*"), "ask"),
        (Rule("allow", path="*.md"), "allow"),
        (Rule("deny", path="docs/*"), "deny"),
        (Rule("allow", "edit_files"), "allow"),
        (Rule("allow", arguments={"path": "*.md"}), "ask"),
    ],
)
def test_rule_must_cover_every_edited_file(root: Path, rule: Rule, effect: str) -> None:
    judged = judge(root, rule, tool="edit_files", edits=EDITS)
    assert judged.effect == effect
    if effect != "deny":
        assert judged.effects.diff.startswith("--- 2 files\n+++ 2 files\n--- notes.md")


@pytest.mark.parametrize("edits", [None, "x", [{}], [{"path": "notes.md"}], [EDITS[0], 3]])
def test_incomplete_edits_are_refused(root: Path, edits: object) -> None:
    assert judge(root, tool="edit_files", edits=edits).effects.refusal


async def test_changed_file_stops_all_edits(root: Path) -> None:
    effects = judge(root, tool="edit_files", edits=EDITS).effects
    (root / "docs" / "a.md").write_text("TOKEN is another word\n")
    shown_original.set(effects.original)
    said = await Edits(Workspace.at(root)).edit_files([TextEdit(**each) for each in EDITS])
    assert "has changed since this call was shown" in said
    assert (root / "notes.md").read_text() == "one\ntwo\n"


async def test_folder_turned_link_stops_move(root: Path) -> None:
    (root / "safe").mkdir()
    effects = judge(root, tool="move_file", path="notes.md", to="safe/x.md").effects
    (root / "safe").rmdir()
    (root / "safe").symlink_to("docs")
    shown_original.set(effects.original)
    assert "has changed since" in await Edits(Workspace.at(root)).move_file("notes.md", "safe/x.md")
    assert not (root / "docs" / "x.md").exists()


async def test_unreadable_file_cannot_be_renamed(root: Path) -> None:
    workspace = confined(root, Rule("deny", "read_file", path="*.env"))
    assert "may not be read" in await Edits(workspace).move_file("prod.env", "prod.txt")
    assert judge(root, tool="move_file", path="prod.env", to="prod.txt").effects.private


def test_jobs_are_read_unasked(root: Path) -> None:
    assert judge(root, tool="read_job").effect == "allow"
    read = judge(root, tool="read_job", job=1)
    assert (read.effect, read.effects.reads) == ("allow", "private")
    assert judge(root, tool="stop_job", job=1).because == "it ends a program"
    assert judge(root, Rule("allow", command="*"), tool="stop_job", job=1).effect == "ask"
    assert judge(root, tool="run_command", command="ls", background=True).effect == "ask"
    guest = build_assistant(AssistantConfig(workspace=root), owner="ann").policy
    assert guest.evaluate(ToolCall("bob", "system", "read_job", {"job": 1})).effect == "ask"


@pytest.mark.parametrize(
    ("rule", "effect"),
    [
        (Rule("allow", "write_file"), "ask"),
        (Rule("allow", risk="write"), "ask"),
        (Rule("allow", path="*"), "ask"),
        (Rule("allow", path=".husky/*"), "allow"),
        (Rule("allow", "write_file", arguments={"path": ".husky/*"}), "allow"),
    ],
)
def test_hidden_write_needs_naming_rule(root: Path, rule: Rule, effect: str) -> None:
    wanted = {"path": ".husky/pre-commit", "content": "x"}
    assert judge(root, rule, tool="write_file", **wanted).effect == effect


OPEN = Sandbox("off")
ANY_COMMAND = Rule("allow", "run_command")
NEEDS_SANDBOX = pytest.mark.skipif(not find_backend().name, reason="no sandbox on this machine")


def judge_command(root: Path, command: str, *rules: Rule, sandbox: Sandbox) -> PolicyResult:
    config = AssistantConfig(workspace=root, rules=rules, sandbox=sandbox)
    built = build_assistant(config, owner="ann")
    return built.policy.evaluate(ToolCall("ann", "system", "run_command", {"command": command}))


@pytest.fixture
def maze(root: Path) -> Path:
    (root / "sub").mkdir()
    (root / "real" / "deep").mkdir(parents=True)
    (root / "sub" / "link").symlink_to("../real/deep")
    (root / "real" / "prod.env").write_text("TOKEN=hunter2\n")
    (root / "docs" / "outside").symlink_to("../prod.env")
    os.link(root / "prod.env", root / "hard.txt")
    for name in ("-b", "a b", "~/x"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).symlink_to(root / "prod.env")
    return root.resolve()


@pytest.mark.parametrize("mode", ["off", pytest.param("auto", marks=NEEDS_SANDBOX)])
@pytest.mark.parametrize(
    "command",
    [
        "cat sub/link/../prod.env",
        "cat /proc/self/cwd/prod.env",
        "cat {root}/prod.env",
        "cat ../{name}/prod.env",
        "cat docs/outside",
        "cat hard.txt",
        "cp hard.txt a.txt",
        "cp notes.md new.env",
        "cp notes.md docs/new.ENV",
        "mv notes.md new.env",
        "mv docs new.env",
        "touch new.env",
        "touch sub/link/../new.env",
        "mkdir new.env",
        "truncate -s 0 hard.txt",
        "rm prod.env",
        "diff --unified prod.env notes.md",
        "sort -k1 -- prod.env",
        "wc -l notes.md prod.env",
        "grep -rn TOKEN prod.env",
        "git diff --stat prod.env",
        "cat -- -b",
        "cat ~/x",
        "rg -.fprod.env notes.md",
        "rg -0fprod.env notes.md",
        "grep --file='a b' notes.md",
        "touch -- -d.env",
    ],
)
def test_a_denied_file_is_found_in_any_word(
    maze: Path, command: str, mode: Literal["off", "auto"]
) -> None:
    command = command.format(root=maze, name=maze.name)
    rules = Rule("allow", command="*"), ANY_COMMAND, NO_ENV
    assert judge_command(maze, command, *rules, sandbox=Sandbox(mode)).effect == "deny"


@pytest.mark.parametrize(
    ("command", "effect"),
    [
        ("grep -r TOKEN .", "deny"),
        ("grep -r TOKEN sub real", "deny"),
        ("grep -r TOKEN", "ask"),
        ("rg TOKEN", "ask"),
        ("grep -n one notes.md", "allow"),
        ("diff docs docs", "deny"),
        ("mv real other", "deny"),
        ("cp -r real other", "deny"),
        ("rm -r real", "deny"),
        ("rm -r docs", "allow"),
        ("cat /proc/self/fd/9", "ask"),
        ("cat /proc/1/cwd/prod.env", "ask"),
        ("python3 -c pass", "ask"),
        ("tar cf x.tar .", "ask"),
        ("less notes.md", "ask"),
        ("make test", "ask"),
        ("git show HEAD", "ask"),
        ("git log -p", "ask"),
        ("git log --check", "ask"),
        ("git tag --format='%(raw)'", "ask"),
        ("git log --format=%h", "allow"),
        ("git stash", "ask"),
        ("git status", "allow"),
        ("git log --oneline", "allow"),
        ("ls -R .", "allow"),
        ("find . -name *.md", "allow"),
        ("cat notes.md", "allow"),
        ("wc -l notes.md docs/a.md", "allow"),
        ("git add .", "allow"),
        ("cp notes.md docs", "allow"),
    ],
)
def test_unsandboxed_unknowns_are_asked(maze: Path, command: str, effect: str) -> None:
    result = judge_command(maze, command, ANY_COMMAND, NO_ENV, sandbox=OPEN)
    assert result.effect == effect
    if effect == "ask":
        assert result.must_ask
        assert "may" in result.because
        assert "rules deny" in result.effects.unheld


@NEEDS_SANDBOX
@pytest.mark.parametrize(
    ("rule", "command", "effect"),
    [
        (Rule("deny", risk="read", path="*.env"), "python3 -c pass", "allow"),
        (Rule("deny", risk="read", path="*.env"), "grep -r TOKEN .", "allow"),
        (Rule("deny", risk="read", path="*.env"), "git show HEAD", "ask"),
        (Rule("deny", risk="write", path="docs/*"), "python3 -c pass", "allow"),
        (Rule("deny", risk="write", path="docs/a.md"), "python3 -c pass", "allow"),
        (Rule("deny", risk="write", path="new/*"), "python3 -c pass", "ask"),
        (Rule("deny", risk="write", path="*.env"), "python3 -c pass", "ask"),
        (Rule("deny", risk="write", path="*.env"), "git stash", "ask"),
        (Rule("deny", risk="write", path="*.env"), "cp -r docs other", "ask"),
        (Rule("deny", risk="write", path="*.env"), "cat notes.md", "allow"),
    ],
)
def test_sandbox_asks_only_about_gaps(maze: Path, rule: Rule, command: str, effect: str) -> None:
    assert judge_command(maze, command, ANY_COMMAND, rule, sandbox=Sandbox()).effect == effect


@pytest.mark.parametrize("command", ["cp notes.md new.env", "touch prod.env", "rm -r docs"])
def test_denied_writing_holds_for_commands(maze: Path, command: str) -> None:
    rules = ANY_COMMAND, Rule("deny", risk="write", path="*.env"), Rule("deny", risk="write", path="docs/*")  # fmt: skip
    assert judge_command(maze, command, *rules, sandbox=OPEN).effect == "deny"
    assert judge_command(maze, "cat prod.env", *rules, sandbox=OPEN).effect == "allow"


def test_word_rule_allows_unknown_command(maze: Path) -> None:
    named = Rule("allow", command="python3 -c pass")
    assert judge_command(maze, "python3 -c pass", named, NO_ENV, sandbox=OPEN).effect == "allow"
    made = Rule("allow", command="make *")
    assert judge_command(maze, "make test", made, NO_ENV, sandbox=OPEN).effect == "allow"


async def test_hard_link_of_denied_is_not_read(maze: Path) -> None:
    workspace = confined(maze, NO_ENV)
    assert "a rule denies that" in await Files(workspace).read_file("hard.txt")
    assert "hunter2" not in await Files(workspace).grep_files("TOKEN")
    assert "a rule denies that" in await Edits(workspace).edit_file("hard.txt", "TOKEN", "x")
    assert "hunter2" in await Files(Workspace(maze)).read_file("hard.txt")
