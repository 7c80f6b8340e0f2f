"""Show people an agent's plan as a checklist."""

from typing import Final

from genie_core.assistant.tools.output import cannot
from genie_core.runtime.progress import doing, plan_note

MOST_STEPS: Final = 12
"""Steps of a plan; people see no more."""

LONGEST_STEP: Final = 120
"""Characters of a step that are shown."""


async def update_plan(steps: list[str], done: int = 0) -> str:
    """Show people a checklist of your plan. For work of three or more steps only.

    Call it before you begin, and again with the whole list whenever steps are done or change.

    Args:
        steps: All steps in their order, a few words each, at most 12.
        done: How many of them are done; the next one counts as begun.
    """
    words = [" ".join(step.split())[:LONGEST_STEP] for step in steps]
    words = [each for each in words if each]
    if not words or len(words) > MOST_STEPS:
        return cannot(f"a plan has 1 to {MOST_STEPS} steps")
    doing("note", plan_note(f"{_mark(at, done)} {step}" for at, step in enumerate(words)))
    left = len(words) - max(done, 0)
    return f"Shown, {left} to go." if left > 0 else "Shown, all done."


def _mark(at: int, done: int) -> str:
    if at < done:
        return "✓"
    return "▸" if at == max(done, 0) else "·"
