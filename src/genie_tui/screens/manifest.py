"""What a message takes along and who gets it, as the questions before sending show it."""

from collections.abc import Iterable, Sequence

from textual.content import Content

from genie_core.room.protocol.events import FileRef, Quote
from genie_core.room.state.room_state import RoomState
from genie_tui.amounts import counted, file_size
from genie_tui.cargo import quoted_chars
from genie_tui.text import visible, visible_line
from genie_tui.widgets.brought import quote_name
from genie_tui.widgets.full_text import quote_text

MUTED = "$foreground-muted"


def agents_here(state: RoomState) -> list[str]:
    """Those whose agents read along; safe to show."""
    return [visible_line(person.name) for person in state.present() if person.engine]


def others_here(state: RoomState, me: str) -> list[str]:
    """Those who read along besides oneself; safe to show."""
    return [visible_line(person.name) for person in state.present() if person.name != me]


def sending(
    text: str, files: Sequence[FileRef], quotes: Sequence[Quote], state: RoomState, me: str
) -> Content:
    """What is about to be sent, and to whom."""
    things = [*map(_file, files), *map(_quote, quotes)]
    shown = [Content.styled(f"“{visible(text)}”", "italic")] if text.strip() else []
    return Content("\n").join([*shown, *things, Content(""), *_receivers(state, me, _sum(things))])


def preview(quote: Quote, state: RoomState, me: str) -> Content:
    """What another room's messages would tell whom, and all of them."""
    count = counted(len(quote.lines), "message")
    amount = f"{count}, {quoted_chars(quote):,} characters"
    head = Content.assemble(
        (f"❝ {quote_name(quote)}", "$text-primary"),
        (f"  {visible_line(quote.room)} · {amount}", MUTED),
    )
    text = Content("\n".join(quote_text(quote)))
    return Content("\n").join([head, *_receivers(state, me, "them"), Content(""), text])


def _receivers(state: RoomState, me: str, things: str) -> list[Content]:
    people, agents = others_here(state, me), agents_here(state)
    seen = f"Everybody in this room sees {things}: {_list(people)}." if people else ""
    seen = seen or f"Nobody else is here now. Whoever comes later sees {things} too."
    lines = [Content(seen)]
    if agents:
        owned = _list(f"{name}'s agent" for name in agents)
        verb = "gets" if len(agents) == 1 else "get"
        lines.append(
            Content.assemble(
                (owned, "$text-warning"), f" {verb} {things}, and so do the models behind them."
            )
        )
    return lines


def _sum(things: Sequence[Content]) -> str:
    return "it" if len(things) == 1 else f"these {len(things)}"


def _file(file: FileRef) -> Content:
    return Content.assemble(
        (f"▤ {visible_line(file.name)}", "$text-primary"), (f" ({file_size(file.size)})", MUTED)
    )


def _quote(quote: Quote) -> Content:
    count = counted(len(quote.lines), "message")
    return Content.assemble((f"❝ {quote_name(quote)}", "$text-primary"), (f" ({count})", MUTED))


def _list(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
