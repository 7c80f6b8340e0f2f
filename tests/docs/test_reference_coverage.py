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
    """Ask pytest itself which tests there are in these files, below `tests/` or of plugins."""
    places = {path if path.startswith("plugins/") else f"tests/{path}" for path in paths}
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *sorted(place for place in places if (ROOT / place).exists())],
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


SHOWN = ("test_x.py::test_y",)


def row(claim: str, here: str = "", *, shown_by: tuple[str, ...] = SHOWN) -> Row:
    return Row(claim, here, [*shown_by], "")


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
        row("it is kept in order"),
    ],
)  # fmt: skip
def test_a_true_row_passes(sound: Row) -> None:
    assert problems([sound], SHOWN) == []


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
        (row("class Agent", f"{HERE}.Agent", shown_by=("test_x.py::test_gone",)), "no test test_x"),
        (row("class Agent", f"{HERE}.Agent", shown_by=()), "no test shows"),
        (row("it is kept in order", shown_by=()), "no test shows"),
        (row("it is kept in order", shown_by=("test_x.py::test_gone",)), "no test test_x"),
    ],
)  # fmt: skip
def test_a_false_row_is_caught(broken: Row, complaint: str) -> None:
    (problem,) = problems([broken], SHOWN)
    assert problem.startswith(f"{broken.claim}: ")
    assert complaint in problem


PAGE_OF_THREE = """# A page

*documented — here — shown by — note*

- `def f(a: str | None)` — `m.f` — `test_a.py` `test_1`,
  `x/test_b.py` `TestB::test_2` — n

*guarantee — shown by — note*

- it is kept in order — `test_a.py` `test_1`

*difference — shown by — reason*

- it is `new` — `test_a.py` `test_1` — r
"""


def test_the_lists_become_rows() -> None:
    assert list(rows(PAGE_OF_THREE)) == [
        Row(
            "def f(a: str | None)", "m.f", ["test_a.py::test_1", "x/test_b.py::TestB::test_2"], "n"
        ),
        Row("it is kept in order", "", ["test_a.py::test_1"], ""),
        Row("it is `new`", "", ["test_a.py::test_1"], "r"),
    ]


def test_pytest_is_asked_for_the_tests_there_are() -> None:
    tests = collected({"docs/test_reference_coverage.py", "docs/test_of_nothing.py"})
    assert "docs/test_reference_coverage.py::test_a_true_row_passes" in tests
    assert not any("test_of_nothing" in test for test in tests)
