"""The card that shows one request and takes a person's answer.

The card acts on keys only while it has the focus. A key chooses an action, and enter runs it if no
other key came between; showing another request drops the choice. Other keys go to the text that the
person writes.
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
from genie_tui.commands.keymap import (
    KeyedApp,
    Keymap,
    LastKey,
    call_after_input,
    keymap_of,
    opened_at,
)
from genie_tui.commands.keys import Action, Scope, bindings, spell
from genie_tui.widgets.approvals.call_text import (
    CardView,
    call_lines,
    effect_content,
    headline,
    origins_content,
)
from genie_tui.widgets.approvals.key_guard import (
    BURST,
    LOOK,
    SOON,
    TOO_SOON,
    KeyGuard,
    Outcome,
    Use,
    key_use,
)
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
NO_OTHER: Final = "no other call of this tool waits whose effects are known"
OFTEN: Final = 2
"""Calls of one kind after which the card offers their pattern."""

REFUSED: Final = "the tool will refuse this call, so only this one can be allowed"
NO_PATTERN: Final = "there is no pattern for this call"

GRANTING: Final = frozenset({"allow_again", "allow_like", "allow_tool", "allow_for"})
"""Actions that allow more than one call."""

ALIKE: Final = "allow_alike"
"""The action that allows the waiting calls of one tool, after listing their effects."""

ALLOWING: Final = GRANTING | {"allow_once", ALIKE}
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

OPENING: Final[Mapping[str, str]] = {
    "allow_for": "allow this call for a while: opens a line for how long?",
    "allow_like": "allow a pattern: opens it in a line?",
    "deny_because": "deny with a reason: opens a line for it?",
    "edit": "change the arguments: opens them in an editor?",
}
"""The questions of actions that open a line or a dialog."""


class Writing(Enum):
    """The purpose of the card's input line; the value is its placeholder."""

    REASON = "Reason, in one sentence"
    EXTENT = "5 (times) or 10m (minutes); 5 git log* for a pattern"
    PATTERN = "Pattern of commands, files or hosts"


_LINES: Final[Mapping[str, Writing]] = {
    "allow_for": Writing.EXTENT,
    "allow_like": Writing.PATTERN,
    "deny_because": Writing.REASON,
}


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
        """The person wants to see the next (1) or the previous (-1) request, or is typing."""

        def __init__(self, by: int, *, by_person: bool) -> None:
            super().__init__()
            self.by = by
            self.by_person = by_person

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
        self._clock = clock
        self._guard = KeyGuard[Action](clock)
        self._view: CardView | None = None
        self._about: str | None = None
        self._writing: Writing | None = None
        self._written_since = 0.0
        self._why_not = ""
        self._returns = False
        self._read: str | None = None
        self._listed: tuple[CardView, ...] = ()
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

    def show(self, view: CardView | None, now: float, *, by_person: bool = False) -> None:
        """Show a request; `now` is in seconds since the epoch.

        Another one, or other effects, arm the guard. `by_person`: an answer or a step of the
        person has brought it there.
        """
        another, old = _id(view) != _id(self._view), self._view
        changed = another or (view is not None and old is not None and view.effects != old.effects)
        changed = changed or (bool(self._listed) and _effects_of(view) != _effects_of(old))
        self._view = view
        if another:
            # Keys of a reason being written must not reach the next request.
            self._about = None
            self.query_one("#card-scroll", VerticalScroll).scroll_home(animate=False)
        if changed:
            self._read = None
            self._why_not = ""
            self.arm(self._clock() if by_person and another else None)
        if view is None:
            return
        self.border_title = headline(view, now)
        if changed:
            self.query_one("#card-call", Static).update(call_lines(view))
            self._listed = ()
            self.query_one("#card-effect", Static).update(effect_content(view))
        if changed or old is None or view.quoted != old.quoted:
            self.query_one("#card-why", Static).update(origins_content(view))
        self.call_after_refresh(self._laid_out)
        self._show_keys()

    def arm(self, opened_at: float | None = None) -> None:
        """Withdraw the question; `opened_at` is when a person at rest opened the request."""
        self._guard.arm(opened_at)
        self.call_after_refresh(self._guard.stand)
        self._show_keys()

    def come_back(self) -> None:
        """Arm the guard; it is awake after a line or a dialog of the card itself."""
        returns, self._returns = self._returns, False
        self.arm(self._clock() if returns else opened_at(self, "approvals"))

    def on_focus(self) -> None:
        self.come_back()
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
        outcome, self._why_not = self._guard.press_key(key_use(action), event), ""
        match outcome:
            case Outcome.LEFT if question is None:
                self.post_message(self.Dismissed())
            case Outcome.LOOKED if action is not None:
                self._look(action.run, self._keymap.meaning(scope, event.key))
            case Outcome.CHOSEN if action is not None and self._view is not None:
                self._choose(action, event.key, self._view)
            case Outcome.CONFIRMED if question is not None and self._view is not None:
                self._confirm(question, self._view)
            case Outcome.TOO_SOON:
                self._why_not = TOO_SOON
            case Outcome.TEXT if event.is_printable or event.key == "enter":
                self.write(self._guard.take_typed())
        self._show_keys()

    def on_paste(self, event: events.Paste) -> None:
        """Pass pasted text on to the text that the person writes."""
        event.stop()
        if self.has_focus and not self._writing:
            self._guard.press(Use.NONE, event.text)
            self.write(self._guard.take_typed())

    def _confirm(self, question: Action, view: CardView) -> None:
        if question.run in ALLOWING and not self._is_read:
            self._guard.ask(question)
        else:
            self._guard.act_alone(self, partial(self._act, question.run, view))

    def _choose(self, action: Action, key: str, view: CardView) -> None:
        """Ask whether to run the action of a key; show the full view immediately."""
        if why := _why_not(view, action.run):
            self._why_not = f"{spell(key)} does nothing: {why}"
        elif action.run == "full_view":
            self._returns = True
            self.post_message(self.FullView(view, self._guard.take_typed()))
        else:
            self._guard.ask(action)

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
            by = 1 if action == "next_card" else -1
            self.post_message(self.Stepped(by, by_person=self._guard.is_awake))

    def _act(self, action: str, view: CardView) -> None:
        """Run an action that the person has confirmed."""
        if answer := ANSWERS.get(action):
            self._send(view.request.id, answer)
        elif action == ALIKE:
            for each in (view, *view.alike):
                self._send(each.request.id, ANSWERS["allow_once"])
        elif action == "edit":
            self.arm()
            self._returns = True
            self.post_message(self.EditWanted(view))
        else:
            self._write(view, _LINES[action])

    def _send(self, approval: str, answer: Answer) -> None:
        self.arm()
        self.post_message(self.Answered(approval, answer))

    def _write(self, view: CardView, what: Writing) -> None:
        self._about, self._writing = view.request.id, what
        self._written_since = self._clock()
        text = view.pattern if what is Writing.PATTERN else ""
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
        line = self.query_one(ReasonInput)
        had_focus = line.has_focus
        self._returns = had_focus and self._about == _id(self._view)
        self._about, self._writing = None, None
        line.clear()
        self.remove_class("-writing")
        if had_focus:
            self.focus()
        self._show_keys()

    @on(ReasonInput.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self._show_keys()

    @on(ReasonInput.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        """Take the line, unless enter is held down or more keys follow in its burst."""
        event.stop()
        app = self.app
        if not isinstance(app, KeyedApp):
            return
        last, stood = app.last_key, app.clock() - self._written_since
        is_held = last.before == last.key and (last.rest < BURST or stood < LOOK)
        if not is_held:
            take = partial(self._take_line, last)
            self.set_timer(BURST, partial(call_after_input, app, take))

    def _take_line(self, last: LastKey) -> None:
        if isinstance(self.app, KeyedApp) and self.app.last_key is not last:
            return
        answer, about = self._line_answer(), self._about
        if about is None:
            self._end_writing()
        elif isinstance(answer, Answer):
            self._end_writing()
            self._send(about, answer)

    def _line_answer(self) -> Answer | str:
        """The answer that the line gives, or why it gives none."""
        text = self.query_one(ReasonInput).value.strip()
        match self._writing:
            case Writing.EXTENT:
                written, _, pattern = text.partition(" ")
                extent = read_scope(written)
                if extent is None:
                    return SCOPE_HINT
                covers = pattern.strip()
                answer = Answer(allow=True, scope=extent[0], count=extent[1], covers=covers)
            case Writing.PATTERN if not text:
                same = self._text(Scope.CARD, "allow-same-call")
                return f"type a pattern; {same} on the card allows this exact call"
            case Writing.PATTERN:
                answer = Answer(allow=True, scope="session", covers=text)
            case _:
                return Answer(allow=False, reason=text or None)
        if self._view is None or not _fits(self._view, answer):
            return f"{visible_line(answer.covers)} does not match this call"
        return answer

    def _list_effects(self) -> None:
        """Show the effects of all calls while the question is about them."""
        question, view = self._guard.question, self._view
        asks = question is not None and question.run == ALIKE
        listed = view.alike if view is not None and asks else ()
        if view is None or bool(listed) == bool(self._listed):
            return
        self._listed, self._read = listed, None
        several = [effect_content(each) for each in (view, *listed)]
        self.query_one("#card-effect", Static).update(Content("\n").join(several))
        self.query_one("#card-scroll", VerticalScroll).scroll_home(animate=False)
        self.call_after_refresh(self._laid_out)
        self.call_after_refresh(self._guard.stand)

    def _show_keys(self) -> None:
        self._list_effects()
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
            return self._line_keys()
        if not self.has_focus or self._view is None:
            return Content(f"Press {self._text(Scope.ROOM, 'approvals')} to answer")
        if self._guard.question is not None:
            return self._asked(self._view, self._guard.question, guarded=guarded)
        if not self._guard.is_awake:
            why = self._why_not or SOON
            return Content.styled(why, "$text-warning") if self._why_not else Content(why)
        arranged = _packed if self.screen.has_class("-low") else _in_columns
        rows = partial(arranged, width=self.content_size.width)
        return key_table(self._view, rows, self._keymap, self._why_not, may_allow=self._is_read)

    def _asked(self, view: CardView, chosen: Action, *, guarded: bool) -> Content:
        """The chosen action, and the keys that run it or withdraw the choice."""
        yes, back = self._text(Scope.CONFIRM, "continue"), self._text(Scope.CONFIRM, "go-back")
        if answer := ANSWERS.get(chosen.run):
            asked, does = confirmation(view, answer), _does(answer)
        elif chosen.run == ALIKE:
            what = f"allow these {1 + len(view.alike)} calls of {view.request.tool}, each once?"
            asked = Content.styled(visible_line(what), ASKED)
            does = "allows them"
        else:
            asked, does = Content.styled(OPENING[chosen.run], ASKED), "opens it"
        if chosen.run in ALLOWING and not self._is_read:
            yes, does = "scroll to the end", "to allow it"
        wait = f"{self._why_not} · " if self._why_not else "… " if guarded else ""
        return Content("\n").join([asked, Content(f"{wait}{yes} {does} · {back} back")])

    def _line_keys(self) -> Content:
        """The answer that the card's line gives, and its keys."""
        enter, back = self._text(Scope.ASK, "continue"), self._text(Scope.ASK, "back")
        if self._about is None or self._view is None:
            return Content(f"this call is no longer waiting · {back} shows the next one")
        answer = self._line_answer()
        if isinstance(answer, str):
            return Content(f"{answer} · {back} back")
        keys = Content(f"{enter} {_does(answer)} · {back} back")
        return Content("\n").join([confirmation(self._view, answer), keys])

    @property
    def _keymap(self) -> Keymap:
        return keymap_of(self)

    def _text(self, scope: Scope, name: str) -> str:
        return self._keymap.text(scope, name)


def _does(answer: Answer) -> str:
    return "allows it" if answer.allow else "denies it"


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
    if action == ALIKE and not view.alike:
        return NO_OTHER
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
        allowing = [each for each in allowing if each.run == "allow_once"]
    elif not view.pattern:
        allowing = [each for each in allowing if each.run != "allow_like"]
    if not view.alike:
        allowing = [each for each in allowing if each.run != ALIKE]
    named = [_naming_pattern(each, view.pattern) for each in allowing]
    if not may_allow:
        paging = keymap.named(Scope.CARD, "scroll").keys[-1:]
        how = f" ({spell(paging[0])})" if paging else ""
        read_first = Content.styled(f"scroll to the end to allow{how}", "$text-warning")
        return Content("\n").join([read_first, *arranged(others)])
    rows = [*arranged(named), *arranged(others)]
    if note := why_not or _note(view, keymap):
        rows.insert(0, Content.styled(note, "$text-warning"))
    return Content("\n").join(rows)


def _note(view: CardView, keymap: Keymap) -> str:
    """Say that only this call can be allowed, or which pattern would have covered the last ones."""
    if not view.is_grantable:
        return _once_only(view)
    if view.before < OFTEN or not view.pattern:
        return ""
    key, pattern = keymap.text(Scope.CARD, "allow-pattern"), visible_line(view.pattern)
    return f"you allowed {view.before} calls like this: {key} allows {pattern}, all of them"


def _effects_of(view: CardView | None) -> list[tuple[str, object]]:
    """The calls that one answer can allow, and their effects."""
    alike = view.alike if view is not None else ()
    return [(each.request.id, each.effects) for each in alike]


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
