from genie_core.room.engine.policy import EXCEED_BUDGET
from genie_core.room.protocol.events import AnswerPosted, FileRef, MessagePosted, Quote, QuotedLine
from genie_core.room.state.thread import MessageThread, Phase, ToolApproval
from genie_tui.widgets.approvals.card import CardView, call_lines, why_asked
from genie_tui.widgets.approvals.text import WITHHELD
from genie_tui.widgets.full_text import call_text, message_text, message_title

QUOTE = Quote("r", "Garden", (QuotedLine("ann", "one\ntwo"), QuotedLine("b\x1b", "three")))


def test_a_message_is_whole_with_what_it_brought() -> None:
    said = MessagePosted("1", "look", files=(FileRef("d", "a.pdf", 7),), quotes=(QUOTE,))
    exchange = MessageThread(1, 1_790_000_000.0, "b\nob", said, Phase.ANSWERED)
    exchange.answer = AnswerPosted(1, "seen")
    text = message_text(exchange)
    for part in ("look", "▤ 1 a.pdf", "from Garden", "one\n    two", "b␛", "three", "seen"):
        assert part in text
    assert "\x1b" not in text
    assert message_title(exchange).startswith("b␤ob, ")


def test_a_call_is_whole_or_says_whose_the_rest_is() -> None:
    proposal = ToolApproval("p", 1, "ann", "genie", "rm", {"path": "x"}, "", 2, 0.0)
    view = CardView(proposal, "bob", "tidy up", 1, 1)
    for part in ("bob", "tidy up", "rm", "path:\nx", "this machine"):
        assert part in call_text(view)
    proposal.withheld, proposal.arguments = True, {}
    assert WITHHELD in call_text(view)


def test_going_over_the_budget_is_no_tool_that_may_do_anything() -> None:
    proposal = ToolApproval("p", 1, "ann", "genie", EXCEED_BUDGET, {"limit": "1 token"}, "", 2, 0.0)
    proposal.risk, proposal.because = "unknown", "the budget of this session is used up"
    view = CardView(proposal, "bob", "tidy up", 1, 1)
    shown = f"{call_lines(view).plain}\n{why_asked(proposal).plain}"
    assert "wants to go over the budget of this session" in shown
    assert "may do anything" not in shown
    assert "unknown" not in call_text(view)
