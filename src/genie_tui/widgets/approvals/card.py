"""The card that shows one request and takes a person's answer.

The card acts on keys only while it has the focus, and only on keys that its guard admits. A key
chooses an answer, and enter sends it; showing another request drops both. Other keys go to the text
that the person writes.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import Enum
from functools import partial
from typing import ClassVar, Final

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from genie_core.room.client.model import ANY_CALL, SAME_CALL, Answer
from genie_core.room.engine.approval_policy import ANSWER_SERVER, SAMPLE_MODEL
from genie_core.room.view.agents import agent_path
from genie_core.room.view.approvals import SCOPE_HINT, extent_words, read_scope, use_of
from genie_core.text.safe import visible_line
from genie_tui.commands.keymap import Keymap, keymap_of
from genie_tui.commands.keys import Action, Scope, bindings, spell
from genie_tui.widgets.approvals.call_text import (
    CardView,
    call_lines,
    effect_content,
    headline,
    origins_content,
)
from genie_tui.widgets.approvals.key_guard import ALONE, SOON, TOO_SOON, KeyGuard, Use, key_use
from genie_tui.widgets.keys_in_order import LineInput
from genie_tui.widgets.reading import read_on

CELL: Final = 21
"""Columns for one key and its effect."""

SUBJECT: Final = 100
"""Characters that a confirmation shows of the subject of a call."""

ASKED: Final = "bold $text-warning"

MORE: Final = "more"
"""Stands before the keys that neither allow nor deny."""

EACH_TIME: Final = "always asked about, so only this one call can be allowed"
ANSWER_FIRST: Final = "the server waits for your answer"
UNCHANGEABLE: Final = "what a server asks your model can't be changed"
REFUSED: Final = "the tool will refuse this call, so only this one can be allowed"
NO_PATTERN: Final = "there is no pattern for this call"

GRANTING: Final = frozenset({"allow_again", "allow_like", "allow_tool", "allow_for"})
"""Actions that allow more than one call."""

ALLOWING: Final = GRANTING | {"allow_once"}
"""Actions that need the whole call to have been on the screen."""

CONFIRMING: Final = frozenset({"go_on", "go_back"})
"""Actions of the second key of an answer."""

ANSWERS: Final[Mapping[str, Answer]] = {
    "allow_once": Answer(allow=True),
    "allow_again": Answer(allow=True, scope="session"),
    "allow_tool": Answer(allow=True, scope="session", covers=ANY_CALL),
    "deny": Answer(allow=False),
    "deny_and_stop": Answer(allow=False, stop=True),
}
"""The questions of actions that need no further words."""

ALLOW_ONCE: Final = "card.allow-once"

WRITING: Final = frozenset({"allow_for", "allow_like", "deny_because"})
"""Actions that open a line of text; keys that follow immediately belong to the line."""


class Writing(Enum):
    """The purpose of the card's input line; the value is its placeholder."""

    REASON = "Reason, in one sentence"
    EXTENT = "5 (times) or 10m (minutes); 5 git log* for a pattern"
    PATTERN = "Pattern of commands, files or hosts"


class ReasonInput(LineInput):
    """The input line for the reason of a denial, or for the extent of a grant.

    It has the keys for entering a line; the card takes the one to go back.
    """

    BINDINGS = bindings(Scope.ASK)


class ApprovalCard(Vertical, can_focus=True):
    """Shows one request at a time; never takes the focus by itself.

    Allowing needs the tool and the end of its effects to have been on the screen. Every answer
    needs enter as a second key. `write` gets text that was not meant for the card.
    """

    BINDINGS: ClassVar[list[BindingType]] = [*bindings(Scope.CARD), *bindings(Scope.CONFIRM)]

    class Answered(Message):
        """The person answered."""

        def __init__(self, approval: str, answer: Answer) -> None:
            super().__init__()
            self.approval = approval
            self.answer = answer

    class Stepped(Message):
        """The person wants to see the next (1) or the previous (-1) request."""

        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by

    class FullView(Message):
        """The person wants to see the request in full; `typed` may be the beginning of a text."""

        def __init__(self, view: CardView, typed: str) -> None:
            super().__init__()
            self.view = view
            self.typed = typed

    class EditWanted(Message):
        """The person wants to edit the arguments, and allow that."""

        def __init__(self, view: CardView) -> None:
            super().__init__()
            self.view = view

    class Dismissed(Message):
        """The person leaves it open and goes back."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self.write: Callable[[str], None] = lambda _: None
        self._guard = KeyGuard[Answer](clock)
        self._view: CardView | None = None
        self._about: str | None = None
        self._writing: Writing | None = None
        self._fault = self._chosen = self._why_not = ""
        self._read: str | None = None
        self._at_hand: tuple[object, ...] = ()
        self._keys_shown = Content("")

    def compose(self) -> ComposeResult:
        yield Static(id="card-call", markup=False)
        with VerticalScroll(id="card-scroll", can_focus=False):
            yield Static(id="card-effect", markup=False)
            yield Static(id="card-why", markup=False)
        yield ReasonInput(
            id="card-reason",
            compact=True,
            select_on_focus=False,  # text typed before the focus came would be replaced
        )
        yield Static(id="card-keys", markup=False)

    def on_mount(self) -> None:
        self._waiting = self.set_interval(0.1, self._show_keys, pause=True)
        self.watch(self.query_one("#card-scroll"), "scroll_y", self._note_read, init=False)
        self._show_keys()

    @property
    def view(self) -> CardView | None:
        return self._view

    def show(self, view: CardView | None, now: float) -> None:
        """Show a request; `now` is in seconds since the epoch.

        Another one, or other effects, arm the guard.
        """
        another, old = _id(view) != _id(self._view), self._view
        changed = another or (view is not None and old is not None and view.effects != old.effects)
        self._view = view
        if another:
            # Keys of a reason being written must not reach the next request.
            self._about = None
            self.query_one("#card-scroll", VerticalScroll).scroll_home(animate=False)
        if changed:
            self._read = None
            self._why_not = ""
            self.arm()
        if view is None:
            return
        self.border_title = headline(view, now)
        if changed:
            self.query_one("#card-call", Static).update(call_lines(view))
            self.query_one("#card-effect", Static).update(effect_content(view))
        if changed or old is None or view.quoted != old.quoted:
            self.query_one("#card-why", Static).update(origins_content(view))
        self.call_after_refresh(self._laid_out)
        self._show_keys()

    def arm(self) -> None:
        """Withdraw the question, and let no key count until the keyboard has rested."""
        self._guard.arm()
        self._show_keys()

    def on_focus(self) -> None:
        """Begin the quiet time; the card's line may have asked a question just before."""
        question = self._guard.question
        self.arm()
        if question is not None:
            self._guard.ask(question)
        self.call_after_refresh(self._laid_out)

    def on_resize(self) -> None:
        self.call_after_refresh(self._laid_out)
        self._show_keys()

    def on_blur(self) -> None:
        self.arm()

    def _laid_out(self) -> None:
        self._fit()
        self._note_read()

    def _fit(self) -> None:
        """Be as high as the content; the style's maximum leaves the rest to be scrolled to."""
        area = self.query_one("#card-scroll", VerticalScroll)
        others = [each for each in self.children if each.display and each is not area]
        if all(each.size.height for each in others):
            parts = [*others, *area.children]
            heights = [each.outer_size.height + each.styles.margin.height for each in parts]
            self.styles.height = sum(heights) + area.styles.margin.height + self.gutter.height

    def _note_read(self) -> None:
        """Note that the tool and the end of the effects are on the screen."""
        area = self.query_one("#card-scroll", VerticalScroll)
        effect = self.query_one("#card-effect").size.height
        bottom = area.scroll_offset.y + area.size.height
        if self.has_focus and effect and area.size.height > 0 and bottom >= effect:
            self._read = _id(self._view)
            self._show_keys()

    @property
    def _is_question(self) -> bool:
        """Whether a tool server waits for an answer, which allowing alone does not give."""
        return self._view is not None and self._view.request.tool == ANSWER_SERVER

    @property
    def _is_read(self) -> bool:
        return self._view is not None and self._read == _id(self._view)

    def on_key(self, event: events.Key) -> None:
        """Run the action of a key if the guard admits it; swallow it otherwise.

        Leaving is always possible. Of the keys of the input inside the card, only the one to go back
        matters.
        """
        if not self.has_focus:
            if self._writing and self._keymap.meaning(Scope.ASK, event.key) == "escape":
                event.stop()
                self._end_writing()
            return
        if event.key in ("tab", "shift+tab"):
            return
        event.stop()
        if self._writing:
            self._type_ahead(event)
            return
        question = self._guard.question
        scope = Scope.CARD if question is None else Scope.CONFIRM
        action = self._keymap.by_key(scope).get(event.key)
        use = key_use(action)
        counts, self._why_not = self._guard.press_key(use, event), ""
        if use is Use.LEAVES and question is None:
            self.post_message(self.Dismissed())
        elif use is Use.LOOKS and action is not None:
            self._look(action.run, self._keymap.meaning(scope, event.key))
        elif use is Use.CONFIRMS and question is not None:
            self._confirm(question, counts=counts)
        elif use is Use.CHOOSES and counts and action is not None and self._view is not None:
            self._choose(action, event.key, self._view)
        elif use is Use.NONE and (event.is_printable or event.key == "enter"):
            self.write(self._guard.take_typed())
        self._show_keys()

    def on_paste(self, event: events.Paste) -> None:
        """Pass pasted text on to the text that the person writes."""
        event.stop()
        if self.has_focus and not self._writing:
            self._guard.press(Use.NONE, event.text)
            self.write(self._guard.take_typed())

    def _confirm(self, answer: Answer, *, counts: bool) -> None:
        """Send an answer, or say why the key that confirms it has withdrawn the question."""
        if not counts:
            self._why_not = TOO_SOON
        elif self._view is not None:
            self._guard.act_alone(self, partial(self._send, self._view, answer), ALONE)

    def _choose(self, action: Action, key: str, view: CardView) -> None:
        """Ask for the answer that a key chooses, or run its other action."""
        if action.run in ALLOWING and not self._is_read:
            return
        if why := _why_not(view, action.run):
            self._why_not = f"{spell(key)} does nothing: {why}"
        elif answer := ANSWERS.get(action.run):
            self._guard.ask(answer)
        elif action.run in WRITING:
            self._act(action.run, view)
        else:
            self._chosen = action.label
            self._guard.act_alone(self, partial(self._act, action.run, view), ALONE)

    def action_through_on_key(self, _run: str) -> None:
        """Do nothing: bindings are only listed, `on_key` takes the keys."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:
        """Let the footer offer the keys that count: none while they are typed into the card's line."""
        confirms = any(run in parameters for run in CONFIRMING)
        return not self._writing and confirms == (self._guard.question is not None)

    def offers(self, action: str) -> bool:
        """Whether an action does something now."""
        return action != ALLOW_ONCE or (self._is_read and not self._is_question)

    def _look(self, action: str, key: str) -> None:
        if action == "scroll":
            read_on(self.query_one("#card-scroll", VerticalScroll), key)
        else:
            self.post_message(self.Stepped(1 if action == "next_card" else -1))

    def _act(self, action: str, view: CardView) -> None:
        match action:
            case "allow_like":
                self._write(view, Writing.PATTERN, view.pattern)
            case "allow_for":
                self._write(view, Writing.EXTENT)
            case "edit":
                self.arm()
                self.post_message(self.EditWanted(view))
            case "deny_because":
                self._write(view, Writing.REASON)
            case "full_view":
                self.post_message(self.FullView(view, self._guard.take_typed()))

    def _send(self, view: CardView, answer: Answer) -> None:
        self.arm()
        self.post_message(self.Answered(view.request.id, answer))

    def _write(self, view: CardView, what: Writing, text: str = "") -> None:
        self._about, self._writing, self._fault = view.request.id, what, ""
        self._guard.take_typed()
        self.add_class("-writing")
        line = self.query_one(ReasonInput)
        line.placeholder, line.value = what.value, text
        line.cursor_position = len(text)
        line.focus()
        self._show_keys()

    def _type_ahead(self, event: events.Key) -> None:
        line = self.query_one(ReasonInput)
        meaning = self._keymap.meaning(Scope.ASK, event.key)
        if meaning == "escape":
            self._end_writing()
        elif meaning == "enter":
            self.call_later(line.action_submit)
        elif event.is_printable and event.character is not None:
            line.insert_text_at_cursor(event.character)

    def _end_writing(self) -> None:
        if not self._writing:
            return
        self._about, self._writing, self._fault = None, None, ""
        line = self.query_one(ReasonInput)
        had_focus = line.has_focus
        line.clear()
        self.remove_class("-writing")
        if had_focus:
            self.focus()
        self._show_keys()

    @on(ReasonInput.Submitted)
    def _written(self, event: Input.Submitted) -> None:
        event.stop()
        approval, what, text = self._about, self._writing, event.value.strip()
        answer = Answer(allow=False, reason=text or None)
        if what is Writing.EXTENT and approval is not None:
            written, _, pattern = text.partition(" ")
            extent = read_scope(written)
            if extent is None:
                self._refuse(SCOPE_HINT)
                return
            answer = Answer(allow=True, scope=extent[0], count=extent[1], covers=pattern.strip())
        elif what is Writing.PATTERN:
            answer = Answer(allow=True, scope="session", covers=text)
        view = self._view
        if what is Writing.PATTERN and not text:
            back, same = self._text(Scope.ASK, "back"), self._text(Scope.CARD, "allow-same-call")
            self._refuse(
                f"type a pattern, or press {back} and then {same} to allow this exact call"
            )
            return
        if view is not None and not _fits(view, answer):
            self._refuse(f"{visible_line(answer.covers)} does not match this call")
            return
        self._end_writing()
        if approval is not None and view is not None and approval == _id(view):
            self._guard.ask(answer)  # the line's keys may have been meant for a message
            self._show_keys()

    def _refuse(self, fault: str) -> None:
        """Name the mistake in the text, and let the person go on writing."""
        self._fault = fault
        self._show_keys()

    def _show_keys(self) -> None:
        at_hand = (self._writing, self._guard.question is None, self._is_read)
        if at_hand != self._at_hand:
            self._at_hand = at_hand
            self.refresh_bindings()
        guarded = self.has_focus and self._guard.remaining() > 0
        if guarded:
            self._waiting.resume()
        else:
            self._waiting.pause()
        text = self._keys_line(guarded=guarded)
        if text != self._keys_shown:
            self._keys_shown = text
            line = self.query_one("#card-keys", Static)
            line.set_class(guarded, "-guarded")
            # The scroll position stays while the keys make room for a shorter line.
            line.styles.min_height = line.size.height if guarded else 0
            line.update(text)
            self.call_after_refresh(self._fit)

    def _keys_line(self, *, guarded: bool) -> Content:
        if self._writing:
            return Content(self._fault or self._line_keys(self._writing))
        if not self.has_focus or self._view is None:
            return Content(f"Press {self._text(Scope.ROOM, 'approvals')} to answer")
        if self._guard.question is not None:
            asked = confirmation(self._view, self._guard.question)
            yes, back = self._text(Scope.CONFIRM, "continue"), self._text(Scope.CONFIRM, "go-back")
            does = "allows" if self._guard.question.allow else "denies"
            return Content("\n").join(
                [asked, Content(SOON if guarded else f"{yes} {does} it · {back} back")]
            )
        if guarded and self._why_not:
            return Content.styled(self._why_not, "$text-warning")
        if guarded:
            return Content(f"{self._chosen}…" if self._guard.is_holding else SOON)
        arranged = _packed if self.screen.has_class("-low") else _in_columns
        rows = partial(arranged, width=self.content_size.width)
        return key_table(self._view, rows, self._keymap, self._why_not, may_allow=self._is_read)

    def _line_keys(self, writing: Writing) -> str:
        """The effects of the keys of the card's line."""
        enter, back = self._text(Scope.ASK, "continue"), self._text(Scope.ASK, "back")
        if self._about is None:
            return f"this call is no longer waiting · {back} shows the next one"
        match writing:
            case Writing.PATTERN:
                does = f"allows all matching calls until the session ends · {enter} continues"
            case Writing.EXTENT:
                does = f"{enter} continues"
            case Writing.REASON:
                does = f"{enter} continues"
        return f"{does} · {back} back"

    @property
    def _keymap(self) -> Keymap:
        return keymap_of(self)

    def _text(self, scope: Scope, name: str) -> str:
        return self._keymap.text(scope, name)


def _id(view: CardView | None) -> str | None:
    return view.request.id if view is not None else None


def _fits(view: CardView, answer: Answer) -> bool:
    """Whether an answer covers the call that it is about."""
    return answer.covers in (SAME_CALL, ANY_CALL) or view.covers(answer.covers)


def _why_not(view: CardView, action: str) -> str:
    """Return why an action can't run for this request; empty if it can."""
    tool = view.request.tool
    if tool == ANSWER_SERVER and action in ALLOWING:
        return ANSWER_FIRST
    if tool == SAMPLE_MODEL and action == "edit":
        return UNCHANGEABLE
    if action not in GRANTING:
        return ""
    if not view.is_grantable:
        return _once_only(view)
    return NO_PATTERN if action == "allow_like" and not view.pattern else ""


def _once_only(view: CardView) -> str:
    if view.request.tool == ANSWER_SERVER:
        return ""
    is_refused = view.effects is not None and view.effects.refusal
    return REFUSED if is_refused else EACH_TIME


def confirmation(view: CardView, answer: Answer) -> Content:
    """The effect of an answer, and its reach."""
    request = view.request
    subject = visible_line(view.subject)
    subject = subject if len(subject) <= SUBJECT else f"{subject[:SUBJECT]}…"
    if not answer.allow:
        reason = f", with the reason “{answer.reason}”" if answer.reason else ""
        stop = ", and stop the agent's work on this message" if answer.stop else ""
        return Content.styled(visible_line(f"deny {request.tool}: {subject}{reason}{stop}?"), ASKED)
    if answer.scope == "once":
        return Content.styled(
            f"allow {visible_line(request.tool)}: {subject}, this time only?", ASKED
        )
    whose = f"{view.author}'s" if view.author != request.owner else "your"
    what = use_of(request.tool, subject, answer.covers)
    extent = extent_words(answer.scope, answer.count)
    text = f"let {agent_path(request.agent)} {what} for {whose} messages, {extent}?"
    return Content.styled(visible_line(text), ASKED)


def key_table(
    view: CardView,
    arranged: Callable[[list[Action]], list[Content]],
    keymap: Keymap,
    why_not: str = "",
    *,
    may_allow: bool,
) -> Content:
    """The card's keys in rows, those that allow apart from those that deny.

    `why_not` says why the last key did nothing.
    """
    listed = [each for each in keymap.actions(Scope.CARD) if each.keys]
    allowing = [each for each in listed if each.run in ALLOWING]
    others = [each for each in listed if each.run not in ALLOWING]
    if view.total == 1:
        others = [each for each in others if each.run not in ("next_card", "previous_card")]
    tool = view.request.tool
    if tool == ANSWER_SERVER:
        may_allow, allowing = True, []
        others = [replace(each, label="answer") if each.run == "edit" else each for each in others]
    elif tool == SAMPLE_MODEL:
        others = [each for each in others if each.run != "edit"]
    if not view.is_grantable:
        allowing = [each for each in allowing if each.run in ("allow_once", "edit")]
    elif not view.pattern:
        allowing = [each for each in allowing if each.run != "allow_like"]
    named = [_naming_pattern(each, view.pattern) for each in allowing]
    if not may_allow:
        paging = keymap.named(Scope.CARD, "scroll").keys[-1:]
        how = f" ({spell(paging[0])})" if paging else ""
        read_first = Content.styled(f"scroll to the end to allow{how}", "$text-warning")
        return Content("\n").join([read_first, *arranged(others)])
    rows = [*arranged(named), *arranged(others)]
    if note := why_not or ("" if view.is_grantable else _once_only(view)):
        rows.insert(0, Content.styled(note, "$text-warning"))
    return Content("\n").join(rows)


def _naming_pattern(action: Action, pattern: str) -> Action:
    """Return an action whose label names the pattern, if there is room for it."""
    label = f"allow {visible_line(pattern)}"
    is_short = action.run == "allow_like" and len(label) <= CELL - 3
    return replace(action, label=label) if is_short else action


def _in_columns(listed: list[Action], *, width: int) -> list[Content]:
    columns = max(width // CELL, 1)
    cells = [
        Content.assemble((action.short_keys, _key_style(action)), f" {action.label}")
        for action in listed
    ]
    padded = [cell.pad_right(CELL - cell.cell_length) for cell in cells]
    return [Content("").join(padded[at : at + columns]) for at in range(0, len(padded), columns)]


def _packed(listed: list[Action], *, width: int) -> list[Content]:
    """List keys in a row for each kind, and leave out those that only look where they don't fit."""
    rows: list[Content] = []
    for kind in ("allow", "deny", MORE):
        group = [each for each in listed if _kind(each) == kind]
        row = _row(kind, group)
        if row.cell_length > width:
            row = _row(
                kind, [each for each in group if each.run not in ("scroll", "leave_pending")]
            )
        if group:
            rows.append(row)
    return rows


def _kind(action: Action) -> str:
    word = action.label.split()[0]
    return word if word in ("allow", "deny") else MORE


def _row(kind: str, group: list[Action]) -> Content:
    """List keys one after another; their common effect stands once before them."""
    keys = [
        Content.assemble(
            (each.short_keys, _key_style(each)),
            f" {each.label.removeprefix(kind).strip() or 'once'}",
        )
        for each in group
    ]
    return Content.assemble(f"{kind}: ", Content("  ").join(keys))


def _key_style(action: Action) -> str:
    if action.run in ALLOWING:
        return "$text-success bold"
    return "$text-error bold" if action.run.startswith("deny") else "$primary bold"
