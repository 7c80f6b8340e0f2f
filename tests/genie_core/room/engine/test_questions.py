"""How many of 50 ordinary calls a person is asked about: protection must not cost questions."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.genie_core.room.engine.test_attacks import Call, Desk, edit, fetch, read, run, write

from genie_core.assistant.config import Rule, Sandbox
from genie_core.assistant.tools.shell.sandbox import find_backend
from genie_core.room.client.model import Answer

ONCE = Answer(allow=True)

ORDINARY: list[Call] = [
    *(Call("list_files", {"folder": folder}) for folder in ("", "src", "docs")),
    *(read(path) for path in ("README.md", "src/app.py", "src/util.py", "docs/plan.md")),
    *(Call("grep_files", {"pattern": word}) for word in ("TODO", "def main", "import")),
    *(Call("search_files", {"query": word}) for word in ("plan", "budget")),
    *(Call("calculate", {"expression": text}) for text in ("6*7", "19.99*12")),
    *(Call("current_time", {"zone": zone}) for zone in ("UTC", "Asia/Tokyo")),
    *(Call("search_chat", {"words": words}) for words in ("deadline", "berlin")),
    *(Call(tool, {}) for tool in ("weekday", "days_between", "summarise_chat", "convert_time")),
    *(run(command) for command in (
        "git status", "git diff", "git log -5", "git show HEAD", "git branch", "git add src/app.py",
        "git commit -m wip", "ls -l", "ls src", "wc -l src/app.py", "cat src/app.py", "pytest -q",
        "pytest tests", "make test", "make lint", "ruff check src", "python3 src/app.py",
        "npm test",
    )),
    *(edit(path, "one") for path in ("src/app.py", "src/util.py", "docs/plan.md")),
    *(write(f"docs/{name}.md") for name in ("notes", "draft", "minutes")),
    write("src/new.py"),
    *(fetch(f"https://docs.python.org/{page}") for page in ("3/", "3/library/re.html")),
    fetch("https://example.org/"),
]  # fmt: skip

RULES = (
    *(Rule("allow", command=pattern) for pattern in (
        "git status*", "git diff*", "git log*", "git show*", "ls *", "wc *", "pytest*", "make *",
    )),
    Rule("allow", path="docs/*"),
)  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for folder in ("src", "docs", "tests"):
        (tmp_path / folder).mkdir()
    for name in ("README.md", "src/app.py", "src/util.py", "docs/plan.md"):
        (tmp_path / name).write_text("one\ntwo\n")
    return tmp_path


def questions(desk: Desk) -> int:
    return sum(desk.call(replace(call, answer=ONCE)) == "asks" for call in ORDINARY)


def by_risk_alone() -> int:
    """Count the calls that write, run programs or reach the network."""
    tools = ("run_command", "edit_file", "write_file", "fetch_url")
    return sum(call.tool in tools for call in ORDINARY)


async def test_lone_host_is_not_asked_after_read(project: Path) -> None:
    assert len(ORDINARY) == 50
    assert questions(Desk(project, ())) == by_risk_alone() == 28
    assert questions(Desk(project, RULES)) == 14


@pytest.mark.skipif(not find_backend().name, reason="no sandbox on this machine")
async def test_offline_sandbox_saves_questions(project: Path) -> None:
    """Bob has spoken: a command that could send out what was read is asked about."""
    asked: dict[str, int] = {}
    for mode in ("auto", "off"):
        desk = Desk(project, RULES, alone=False, sandbox=Sandbox(mode))
        desk.say("good morning", "bob")
        asked[mode] = questions(desk)
    assert asked == {"auto": 16, "off": 24}
