"""The coverage page tells the truth, and would be caught if it did not."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.reference_table import Row, problems, rows
from tests.limits import scaled

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/reference-coverage.md"


def collected(paths: set[str]) -> set[str]:
    """Ask pytest itself which tests there are in these files, below `tests/`."""
    missing = {path for path in paths if not (ROOT / "tests" / path).exists()}
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *(f"tests/{path}" for path in sorted(paths - missing))],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=scaled(100),
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return {
        line.split("[")[0].removeprefix("tests/")
        for line in done.stdout.splitlines()
        if "::" in line
    }


def test_what_the_page_says_is_so() -> None:
    table = list(rows(PAGE.read_text()))
    tests = collected({test.split("::")[0] for row in table for test in row.tests})
    found = problems(table, tests)
    assert not found, "\n".join(found)


def test_the_page_is_read_whole() -> None:
    table = list(rows(PAGE.read_text()))
    names = {row.here for row in table if row.here}
    guarantees = [row for row in table if row.is_guarantee]
    assert len(names) > 80
    assert len(guarantees) > 40


def row(claim: str, here: str, *, shown_by: str = "test_x.py::test_y", note: str = "") -> str:
    return f"| `{claim}` | `{here}` | `{shown_by}` | {note} |".replace(" | None", r" \| None")


HERE = "genie_core.agent"


@pytest.mark.parametrize(
    "sound",
    [
        row("class AgentInfo(name: str, description: str, emoji: str | None = None)",
            f"{HERE}.AgentInfo"),
        row("class AgentInput(query: str, attachments: list[Attachment] = list())",
            f"{HERE}.AgentInput"),
        row("abstract class Agent", f"{HERE}.Agent"),
        row("abstract async def run(input: AgentInput, callback: ApprovalCallback) -> str",
            f"{HERE}.Agent.run"),
        row("static def deserialize(thread_dict: dict[str, Any]) -> Thread",
            "genie_core.message.Thread.deserialize"),
        row("def narrow_path(*keys: str) -> Path", "genie_core.datastore.DataStore.narrow_path"),
        row("attribute name: str", f"{HERE}.AgentInfo.name"),
        row("alias SingleAgentFactoryFn = Callable[[dict[str, str]], Agent]",
            f"{HERE}.SingleAgentFactoryFn"),
        "| it is kept in order | `test_x.py::test_y` | |",
    ],
)  # fmt: skip
def test_a_true_row_passes(sound: str) -> None:
    assert problems(rows(sound), {"test_x.py::test_y"}) == []


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        (row("class Agents", f"{HERE}.Agents"), "is not there"),
        (row("class Agent", f"{HERE}.AgentInfo"), "has another name"),
        (row("class Agent", "genie_core.agency.Agent"), "is not there"),
        (row("class AgentInfo(title: str)", f"{HERE}.AgentInfo"), "not title"),
        (row("class AgentInfo(description: str, name: str)", f"{HERE}.AgentInfo"),
         "not description"),
        (row("class AgentInfo(name: str)", f"{HERE}.AgentInfo"), "description was added"),
        (row("class AgentInfo(name: str, description: str, emoji: str = 'mag')",
             f"{HERE}.AgentInfo"), "default of emoji"),
        (row("class AgentInput(query: str, attachments: list[Attachment] = None)",
             f"{HERE}.AgentInput"), "default of attachments"),
        (row("def run(input: AgentInput, callback: ApprovalCallback)", f"{HERE}.Agent.run"),
         "without `async`"),
        (row("async def approve()", f"{HERE}.Approval.approve"), "is not `async`"),
        (row("abstract class AgentInfo", f"{HERE}.AgentInfo"), "is not abstract"),
        (row("static def approve()", f"{HERE}.Approval.approve"), "is not a static method"),
        (row("property approve: bool", f"{HERE}.Approval.approve"), "is no property"),
        (row("attribute title: str", f"{HERE}.AgentInfo.title"), "is not there"),
        (row("alias SingleAgentFactoryFn = Callable[[str], Agent]",
             f"{HERE}.SingleAgentFactoryFn"), "takes"),
        (row("alias SingleAgentFactoryFn = Callable[[dict[str, str]], str]",
             f"{HERE}.SingleAgentFactoryFn"), "no note says so"),
        (row("def create_group_reasoner(owner: str, name: str, **kwargs: Any)",
             "genie_core.reasoner.GroupReasonerFactory.create_group_reasoner"), "not name"),
        (row("Agent, of course", f"{HERE}.Agent"), "not written as"),
        (row("class Agent", f"{HERE}.Agent", shown_by="test_x.py::test_gone"), "no test test_x"),
        (row("class Agent", f"{HERE}.Agent", shown_by="seen it work"), "no test shows"),
        ("| it is kept in order | | |", "no test shows"),
        ("| it is kept in order | `test_x.py::test_gone` | |", "no test test_x"),
    ],
)  # fmt: skip
def test_a_false_row_is_caught(broken: str, complaint: str) -> None:
    (problem,) = problems(rows(broken), {"test_x.py::test_y"})
    assert problem.startswith("line 1: ")
    assert complaint in problem


TABLE = r"""# A page
| documented | here | shown by | note |
|---|---|---|---|
| `def f(a: str \| None)` | `m.f` | `test_a.py::test_1`, `x/test_b.py::TestB::test_2` | n |
text
"""


def test_the_lines_of_a_table_become_rows() -> None:
    tests = ["test_a.py::test_1", "x/test_b.py::TestB::test_2"]
    assert list(rows(TABLE)) == [Row(4, "def f(a: str | None)", "m.f", tests, "n")]


def test_pytest_is_asked_for_the_tests_there_are() -> None:
    tests = collected({"docs/test_reference_coverage.py", "docs/test_of_nothing.py"})
    assert "docs/test_reference_coverage.py::test_a_true_row_passes" in tests
    assert not any("test_of_nothing" in test for test in tests)
