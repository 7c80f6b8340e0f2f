"""Messages and tool calls as one text each, with nothing left out; safe to show."""

from collections.abc import Iterator

from genie_core.room.protocol.events import Quote
from genie_core.room.state.thread import MessageThread
from genie_core.text.format import clock_time, local_time
from genie_core.text.safe import visible, visible_line
from genie_tui.widgets.agent_path import agent_path
from genie_tui.widgets.approvals.card import CardView
from genie_tui.widgets.approvals.text import plain_arguments, risk_of
from genie_tui.widgets.brought import file_lines, quote_name
from genie_tui.widgets.failure import CUT


def call_text(view: CardView) -> str:
    """Who wants what, and all that it is called with."""
    request = view.request
    parts = (
        ("asked by", f"{view.author}, {clock_time(request.asked_at)}"),
        ("message", view.message),
        ("agent", agent_path(request.agent)),
        ("tool", request.tool),
        ("runs on", request.where or "this machine"),
        ("risk", risk_of(request) or "unknown"),
        ("asked because", request.because or "nothing allows it"),
    )
    head = "\n".join(f"{label}: {visible(text)}" for label, text in parts)
    arguments = plain_arguments(request.arguments, withheld=request.withheld)
    return f"{head}\n\n{arguments or 'no arguments'}\n"


def message_title(exchange: MessageThread) -> str:
    """Who said it, and when."""
    return f"{visible_line(exchange.author)}, {_moment(exchange.at)}"


def message_text(exchange: MessageThread) -> str:
    """What was said, and what came along with it."""
    said = exchange.said
    parts = [visible(said.text)] if said.text else []
    if said.files:
        files = file_lines(said.files)
        parts.append("\n".join(f"▤ {file.number} {file.name}  {file.about}" for file in files))
    parts += ["\n".join(quote_text(quote)) for quote in said.quotes]
    if exchange.answer is not None:
        parts.append(f"genie answered:\n{visible(exchange.answer.text)}")
        parts += [f"[{CUT}]"] if exchange.answer.cut else []
    elif exchange.partial:
        parts.append(f"genie began to answer:\n{visible(exchange.partial)}\n\n[incomplete]")
    return "\n\n".join(parts) + "\n"


def quote_text(quote: Quote) -> Iterator[str]:
    """The messages of another room, after a line that says which it is."""
    yield f"── from {quote_name(quote)} ──"
    for line in quote.lines:
        text = visible(line.text).replace("\n", "\n    ")  # or a line could pass for another's
        yield f"{visible_line(line.sender)}, {_moment(line.at)}: {text}"


def _moment(at: float) -> str:
    moment = local_time(at)
    return f"{moment.day} {moment:%B %Y, %H:%M}"
