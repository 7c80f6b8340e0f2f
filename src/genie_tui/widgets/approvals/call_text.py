"""The texts of a card: the agent and the call, its effects, and whose words led to it."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from textual.content import Content

from genie_core.room.engine.approval_policy import ANSWER_SERVER
from genie_core.room.engine.tool_effects import CLAIMS_TO_DESTROY, DOES, ToolEffect, ToolEffects
from genie_core.room.state.thread import ToolApproval
from genie_core.room.view.agents import agent_path
from genie_core.room.view.approvals import (
    WITHHELD,
    arguments_line,
    plain_value,
    reads_private,
    risk_of,
    tool_words,
)
from genie_core.room.view.wording import quote_of
from genie_core.text.format import counted, duration
from genie_core.text.safe import visible, visible_line
from genie_core.text.tool_form import FormField, UnfitForm, fields_of

RISK_STYLES: Final = {
    "read": "$text-success bold",
    "write": "$text-warning bold",
    "network": "$text-warning bold",
    "execute": "$text-error bold",
    "unknown": "$text-error bold",
}

QUOTE: Final = 160
"""Characters of the message that a card quotes."""

BECAUSE: Final = 400
"""Characters of the reason that a card shows; the full view shows all."""

AGENT: Final = 48
"""Characters of an agent's path; the middle of a longer one is left out, visibly."""

BLANKS: Final = 8
"""Blanks in a row that are shown one by one; more are counted."""

MOST_NAMED: Final = 3
"""Origins that a card names."""

GAP: Final = 40
"""Blanks in a row inside a line of a file or of a long argument that are counted."""

OPENS_ADDRESS: Final = "Nothing is opened before you agree; see who owns the address first."

INDENT: Final = "  "

_BLANK: Final = r"[ \u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000]"
"""Characters that look like a blank."""

_SHOWN_BY_EFFECTS: Final = frozenset(
    {"command", "url", "path", "to", "content", "old", "new", "overwrite", "everywhere", "edits"}
)
"""Arguments of built-in tools that the effects of a call show."""


def _covers_nothing(_pattern: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class CardView:
    """The request on a card, its message, and its place in the queue.

    `message` is the text as its author left it, empty if they deleted it, `posted` as they wrote it
    first. `effects` and `schema` are None where the call does not run. `behind` is the number of the
    author's messages whose turn comes after this one. `covers` tells whether a pattern covers all
    that the call would do. `alike` are the waiting calls that one answer can allow with this one;
    `before` counts the calls of its kind that the person has allowed one by one.
    """

    request: ToolApproval
    author: str
    message: str
    position: int
    total: int
    effects: ToolEffects | None = None
    schema: Mapping[str, Any] | None = field(default=None, compare=False)
    behind: int = 0
    covers: Callable[[str], bool] = field(default=_covers_nothing, compare=False)
    posted: str | None = None
    alike: "tuple[CardView, ...]" = ()
    before: int = 0

    @property
    def maker(self) -> tuple[str, ...]:
        """The agent, the person it works for, and the tool."""
        return self.request.agent, self.author, self.request.tool

    @property
    def kind(self) -> tuple[str, ...]:
        """The calls that one pattern covers have one kind."""
        return *self.maker, self.pattern

    @property
    def can_be_listed(self) -> bool:
        """Whether the effects say all of the call, and it need not be asked about by itself."""
        effects = self.effects
        return effects is not None and effects.is_grantable and bool(effects.known)

    @property
    def quoted(self) -> tuple[str, str]:
        """The message as its author left it and as they posted it."""
        return self.message, self.message if self.posted is None else self.posted

    @property
    def from_before(self) -> bool:
        """Whether it was parked by a suspend."""
        return self.request.outcome == "parked"

    @property
    def subject(self) -> str:
        """The subject of the call, in short: its first effect or its arguments."""
        if self.effects is not None and self.effects.known:
            return self.effects.known[0].target
        return arguments_line(self.request.arguments, withheld=self.request.withheld)

    @property
    def is_grantable(self) -> bool:
        """Whether an answer may reach further than this call."""
        return self.effects is None or self.effects.is_grantable

    @property
    def pattern(self) -> str:
        """A pattern that covers calls like this one; empty if there is none."""
        return self.effects.pattern if self.effects is not None else ""


def headline(view: CardView, now: float) -> str:
    """The card's place in the queue, and how long it has waited."""
    before = "from before · " if view.from_before else ""
    waiting = duration(now - view.request.asked_at)
    line = f"{before}{view.position} of {view.total} · waiting {waiting}"
    if not view.behind:
        return line
    return f"{line} · {counted(view.behind, 'message')} of {visible_line(view.author)} behind it"


def call_lines(view: CardView) -> Content:
    """Who asked, which agent, which tool, on which machine."""
    request = view.request
    arrow = (" → ", "$foreground-muted")
    tool = tool_words(request.tool)
    return Content.assemble(
        (visible_line(view.author), "bold"),
        arrow,
        (_shortened(visible_line(f"{request.owner}'s {agent_path(request.agent)}")), ""),
        arrow,
        (visible_line(tool), "bold $text-warning"),
        arrow,
        ("on ", "$foreground-muted"),
        (visible_line(request.where) or "this machine", ""),
    )


def _shortened(path: str) -> str:
    if len(path) <= AGENT:
        return path
    return f"{path[: AGENT // 2]} … {path[-AGENT // 2 :]}"


def effect_content(view: CardView) -> Content:
    """The effects of the call, and the arguments that this does not show."""
    request, effects = view.request, view.effects
    if request.tool == ANSWER_SERVER and "message" in request.arguments:
        return question_content(view)
    if request.withheld and not request.arguments:
        return Content.styled(WITHHELD, "$text-warning")
    if effects is None or not effects.known:
        unknown = effects is not None and effects.anything
        known = (
            [Content.styled("what it does is not known here", "$text-warning")] if unknown else []
        )
        if effects is not None and effects.claim:
            known.append(_claim(effects.claim))
        refused = [_refusal(effects)] if effects is not None and effects.refusal else []
        logged = (
            [Content(visible_line(each)) for each in request.effects] if effects is None else []
        )
        shown_arguments = arguments_content(request.arguments)
        return Content("\n").join([*refused, *known, *logged, shown_arguments])
    parts = [_refusal(effects)] if effects.refusal else []
    written = effects.targets("write")
    parts += [
        _effect(each) for each in effects.known if each.kind != "read" or each.target not in written
    ]
    if effects.anything:
        parts.append(
            Content.styled(f"may run anything: {visible_line(effects.why)}", "$text-error")
        )
    elif effects.why:
        parts.append(Content.styled(visible_line(effects.why), "$text-warning"))
    if effects.unheld:
        parts.append(Content.styled(visible_line(effects.unheld), "$text-warning"))
    if effects.private:
        parts.append(Content.styled(reads_private(request), "$text-warning"))
    if effects.sandbox:
        parts.append(Content.styled(visible_line(effects.sandbox), "$foreground-muted"))
    if effects.diff:
        parts.append(diff_content(effects.diff))
    shown = _SHOWN_BY_EFFECTS if not effects.refusal or effects.diff else frozenset[str]()
    if rest := _unusual(request.arguments, view.schema, shown):
        parts.append(arguments_content(rest))
    return Content("\n").join(parts)


def question_content(view: CardView) -> Content:
    """Return a tool server's question: its message, and an address or the fields of a form."""
    asked = view.request.arguments
    server = visible_line(str(asked.get("server", "")))
    lines = [
        Content.styled(f"{server} asks:", "$foreground-muted"),
        exact(str(asked["message"])),
        Content(""),
    ]
    if "url" in asked:
        lines.append(
            Content.assemble(("address  ", "$text-primary"), visible_line(str(asked["url"])))
        )
        lines.append(Content.styled(OPENS_ADDRESS, "$text-warning"))
        return Content("\n").join(lines)
    lines += [_field(field) for field in form_of(view)]
    lines.append(Content.styled(reads_answers(server), "$text-warning"))
    return Content("\n").join(lines)


def reads_answers(server: str) -> str:
    """Warn of a server's use of an answer."""
    return f"{visible_line(server)} reads your answer: enter no password, key or other secret."


def form_of(view: CardView) -> tuple[FormField, ...]:
    """The fields of the form that a tool server asks for; none if they are not known here."""
    form = (view.schema or {}).get("properties", {}).get("answer")
    try:
        return fields_of(form) if form else ()
    except UnfitForm:
        return ()


def _field(field: FormField) -> Content:
    return Content.assemble(
        (f"{INDENT}{visible_line(field.title)}", "$text-primary"),
        (f"  {visible_line(field.expected)}", "$foreground-muted"),
    )


def _claim(claim: str) -> Content:
    """Return the server's claim about its tool, in warning colours if that is bad."""
    style = "$text-error" if claim == CLAIMS_TO_DESTROY else "$foreground-muted"
    return Content.styled(f"its server says that {visible_line(claim)}", style)


def _refusal(effects: ToolEffects) -> Content:
    return Content.styled(
        f"the tool will refuse it: {visible_line(effects.refusal)}", "$text-error"
    )


def _effect(effect: ToolEffect) -> Content:
    does = Content.styled(f"{DOES[effect.kind]} ", "$foreground-muted")
    target = effect.target or "the workspace"
    return Content.assemble(does, exact(target) if effect.kind == "run" else visible_line(target))


def _unusual(
    arguments: Mapping[str, Any], schema: Mapping[str, Any] | None, shown: frozenset[str]
) -> dict[str, Any]:
    """The arguments that effects do not show and that differ from their defaults."""
    properties = (schema or {}).get("properties", {})
    return {
        name: value
        for name, value in arguments.items()
        if name not in shown and value != properties.get(name, {}).get("default", _MISSING)
    }


_MISSING: Final = object()


def exact(text: str) -> Content:
    """A text with its blanks and line breaks made visible."""
    parts: list[tuple[str, str]] = []
    for part in re.split(rf"({_BLANK}{{2,}}|^ | $|\n+)", visible(text)):
        if part.startswith("\n"):
            count = f" {len(part):,} line breaks" if len(part) > 2 else ""
            parts.append((f"{'⏎' * min(len(part), 2)}{count}", "$text-warning"))
            parts.append(("\n", ""))
        elif part and re.fullmatch(f"{_BLANK}+", part):
            dots = "·" * min(len(part), BLANKS)
            count = f"… {len(part):,} blanks …" if len(part) > BLANKS else ""
            parts.append((dots + count, "$text-warning"))
        else:
            parts.append((part, ""))
    return Content.assemble(*parts)


def counted_gaps(line: str) -> str:
    """A line in which long gaps are counted, so that none hides the text after it."""
    return re.sub(
        f"{_BLANK}{{{GAP},}}", lambda gap: f"{'·' * BLANKS}… {len(gap[0]):,} blanks …", line
    )


def diff_content(diff: str) -> Content:
    """The change to a file, without the names above it."""
    lines = diff.split("\n")
    if lines[2:3] and lines[2].startswith("@@ -0,0 "):
        return Content("\n").join(
            [Content.styled("a new file", "$text-accent"), diff_lines(lines[3:])]
        )
    return diff_lines(lines[2:])


def diff_lines(lines: Iterable[str]) -> Content:
    """Lines of a diff in colours, safe to show."""
    styles = {"+": "$text-success", "-": "$text-error", "@": "$text-accent"}
    return Content("\n").join(
        Content.styled(counted_gaps(visible(line)), styles.get(line[:1], "$foreground-muted"))
        for line in lines
    )


def origins_content(view: CardView) -> Content:
    """Why it is asked, and whose words led to it."""
    request = view.request
    because = visible_line(request.because[:BECAUSE])
    risk = risk_of(request)
    risk = "" if risk in because else risk
    asked = f"asked because {because}" if because else ""
    why = Content.assemble(
        (risk, RISK_STYLES.get(request.risk, "bold")),
        " · " if risk and asked else "",
        (asked, "$foreground-muted"),
    )
    message = Content.assemble(
        (visible_line(view.author), "bold"),
        (" wrote ", "$foreground-muted"),
        (quote_of(*view.quoted, QUOTE), "italic"),
    )
    lines = [why, message] if why else [message]
    if request.origins:
        named = ", ".join(visible_line(each) for each in request.origins[:MOST_NAMED])
        more = len(request.origins) - MOST_NAMED
        named += f" and {more} more; v lists them" if more > 0 else ""
        lines.append(Content.styled(f"the agent may also have read: {named}", "$text-warning"))
    return Content("\n").join(lines)


def arguments_content(arguments: Mapping[str, Any], *, withheld: bool = False) -> Content:
    """All arguments in full: short values beside their names, long ones below."""
    if withheld and not arguments:
        return Content.styled(WITHHELD, "$text-warning")
    if not arguments:
        return Content.styled("no arguments", "$foreground-muted")
    width = min(max(len(visible(name)) for name in arguments), 16)
    return Content("\n").join(_argument(name, value, width) for name, value in arguments.items())


def _argument(name: str, value: Any, width: int) -> Content:
    text = plain_value(value)
    label = Content.styled(visible_line(name).ljust(width), "$text-primary")
    if not text:
        return Content.assemble(label, INDENT, ("empty text", "$foreground-muted"))
    if "\n" not in text:
        return Content.assemble(label, INDENT, exact(text))
    return Content.assemble(label, "\n", text_content(text))


def text_content(text: str) -> Content:
    """A whole text, indented; long gaps in it, which could hide later text, are counted."""
    return Content("\n").join(_indented(visible(text)))


def _indented(text: str) -> Iterator[Content]:
    """The lines of a text; many empty ones in a row are counted."""
    for part in re.split(r"(\n{3,})", text):
        if part.startswith("\n\n\n"):
            yield Content.styled(f"{INDENT}⏎ {len(part) - 1:,} empty lines", "$text-warning")
        else:
            yield from (Content(INDENT + counted_gaps(line)) for line in part.split("\n"))
