from tests.genie_core.agent.provider.both import Reports

from genie_core.assistant.tools.plan import LONGEST_STEP, MOST_STEPS, update_plan
from genie_core.runtime.progress import plan_steps, reporting_to


async def shown(steps: list[str], done: int = 0) -> tuple[str, list[str]]:
    """What the tool answers, and the steps that people see."""
    with reporting_to(reports := Reports()):
        said = await update_plan(steps, done)
    (note,) = reports.doings
    return said, plan_steps(note.removeprefix("note "))


async def test_steps_are_done_begun_or_to_come() -> None:
    steps = ["Read the\ncode", "Change it; then test", "Report"]
    assert await shown(steps) == (
        "Shown, 3 to go.",
        ["▸ Read the code", "· Change it, then test", "· Report"],
    )
    assert await shown(steps, 1) == (
        "Shown, 2 to go.",
        ["✓ Read the code", "▸ Change it, then test", "· Report"],
    )
    said, marks = await shown(steps, 3)
    assert said == "Shown, all done."
    assert [each[0] for each in marks] == ["✓"] * 3


async def test_odd_numbers_and_long_steps_do_no_harm() -> None:
    _, marks = await shown(["a", "b"], -5)
    assert [each[0] for each in marks] == ["▸", "·"]
    said, marks = await shown(["a", "b"], 99)
    assert (said, [each[0] for each in marks]) == ("Shown, all done.", ["✓", "✓"])
    _, (only,) = await shown(["x" * 1_000, "  "])
    assert only == f"▸ {'x' * LONGEST_STEP}"


async def test_no_or_excess_steps_are_refused() -> None:
    for steps in ([], [" "], ["x"] * (MOST_STEPS + 1)):
        said, marks = await shown(steps)
        assert "1 to 12 steps" in said
        assert marks == []
