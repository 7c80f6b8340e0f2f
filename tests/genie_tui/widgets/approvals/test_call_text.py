from dataclasses import replace

import pytest

from genie_core.room.engine.tool_effects import (
    CLAIMS_TO_DESTROY,
    UNKNOWN_EFFECTS,
    ToolEffect,
    ToolEffects,
)
from genie_core.room.state.thread import ToolApproval
from genie_tui.widgets.approvals.call_text import CardView, effect_content

WIPE = ToolApproval("p", 1, "ann", "system", "toy_wipe", {"path": "notes"}, "", 2, 0.0)


@pytest.mark.parametrize("claim", [CLAIMS_TO_DESTROY, "it only [b]reads"])
def test_server_claim_adds_to_unknown(claim: str) -> None:
    view = CardView(WIPE, "ann", "go", 1, 1, replace(UNKNOWN_EFFECTS, claim=claim))
    text = effect_content(view).plain
    assert text.split("\n")[:2] == [
        "what it does is not known here",
        f"its server says that {claim}",
    ]


def test_unheld_denial_is_on_card() -> None:
    unheld = "without a sandbox, it may read files that rules deny (*.env)"
    runs = ToolEffects((ToolEffect("run", "tar cf x ."),), unheld=unheld)
    assert unheld in effect_content(CardView(WIPE, "ann", "go", 1, 1, runs)).plain.split("\n")
