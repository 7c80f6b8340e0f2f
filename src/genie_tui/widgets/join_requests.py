"""The strip above the composer with requests of others.

They ask a host to admit them, or a member to host the room or to follow into a new one. The strip
never takes the focus by itself and handles keys only while it has the focus. A key chooses an
answer, and enter sends it: typing can never answer.
"""

import time
from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from genie_core.room.client.model import Continuation
from genie_core.room.protocol.frames import HostingOffered, JoinRequested
from genie_core.room.protocol.names import fold_name
from genie_core.room.security.key_words import key_words
from genie_core.room.transport.origin import LOOPBACK
from genie_core.room.view.continuations import continues
from genie_core.text.safe import visible_line
from genie_tui.commands.keymap import keymap_of, opened_at
from genie_tui.commands.keys import Action, Scope, bindings
from genie_tui.widgets.keys_line import KeysLine

Caller: TypeAlias = JoinRequested | HostingOffered | Continuation

_WORDS: Final[dict[type, dict[str, str]]] = {
    JoinRequested: {"allow": "admit", "deny": "refuse"},
    HostingOffered: {"allow": "yes, I host", "deny": "no"},
    Continuation: {"allow": "follow", "deny": "stay here"},
}


_COMPARE: Final = {
    "": ". Ask them to read out theirs; their screen shows it.",
    "agent": ". Ask its owner to read them out; it reports them as the reason why it waits.",
}


class JoinRequests(Vertical, can_focus=True):
    """Shows one request at a time, the oldest first. Hidden without a request.

    `write` gets text that was not meant for the strip.
    """

    BINDINGS = bindings(Scope.JOIN_REQUESTS)

    class Answered(Message):
        """The person answered a request."""

        def __init__(self, caller: Caller, *, allow: bool) -> None:
            super().__init__()
            self.caller = caller
            self.allow = allow

    class Dismissed(Message):
        """The person puts the requests off, or the last one is gone."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self.write: Callable[[str], None] = lambda _: None
        self._callers: list[Caller] = []
        self._clock = clock
        self._keys = KeysLine(Scope.JOIN_REQUESTS, clock)

    def compose(self) -> ComposeResult:
        yield Static(id="join-request-text", markup=False)
        yield self._keys

    def on_mount(self) -> None:
        self._show()

    @property
    def callers(self) -> tuple[Caller, ...]:
        """The waiting requests; the first one is shown."""
        return tuple(self._callers)

    def take(self, caller: Caller) -> None:
        """Queue a request, or remove one that is `over`."""
        if isinstance(caller, JoinRequested) and caller.over:
            gone = next((each for each in self._callers if _same(each, caller)), None)
            self.remove_caller(gone)
        elif not any(_same(each, caller) for each in self._callers):
            self._callers.append(caller)
            self._show()

    def take_continuations(self, found: Iterable[Continuation]) -> None:
        """Ask whether to follow into each of these rooms, and no longer about others."""
        rooms = {each.room: each for each in found}
        for caller in self._callers.copy():
            if isinstance(caller, Continuation) and caller.room not in rooms:
                self.remove_caller(caller)
        for each in rooms.values():
            self.take(each)
        current = [
            rooms[each.room] if isinstance(each, Continuation) else each for each in self._callers
        ]
        if current != self._callers:
            self._callers = current
            self._show()

    def remove_caller(self, caller: Caller | None, *, by_person: bool = False) -> None:
        """Remove a request; `by_person`: the person has answered it."""
        here = next((each for each in self._callers if caller and _same(each, caller)), None)
        if here is None:
            return
        in_view = here is self._callers[0]
        self._callers.remove(here)
        if in_view:
            self._keys.arm(self._clock() if by_person else None)
        self._show()

    def clear(self) -> None:
        self._callers.clear()
        self._show()

    def forget_requests(self) -> None:
        """Remove the requests to join: after reconnecting, the room repeats those that are open."""
        for caller in self._callers.copy():
            if isinstance(caller, JoinRequested):
                self.remove_caller(caller)

    def knocks_by(self, name: str) -> list[JoinRequested]:
        """Return the requests to join under a name."""
        wanted = fold_name(name)
        knocks = [each for each in self._callers if isinstance(each, JoinRequested)]
        return [each for each in knocks if fold_name(each.name) == wanted]

    def come_back(self) -> None:
        """Arm the guard after a screen above."""
        self._keys.arm()

    def watch_has_focus(self, _has_focus: bool) -> None:  # noqa: FBT001 - as Widget has it
        """Arm the guard on every focus; show how to return after it is lost."""
        super().watch_has_focus(_has_focus)
        if self.is_mounted:
            self._keys.arm(opened_at(self, "join-requests"))
            self._show()

    def on_key(self, event: events.Key) -> None:
        """Handle a key that the guard admits; pass typed text on."""
        if event.key in ("tab", "shift+tab"):
            return
        event.stop()
        self.write(self._keys.take(event, self, self._act))

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        self.write(self._keys.take_paste(event))

    def action_through_on_key(self, _run: str) -> None:
        """Do nothing: the bindings are for display, `on_key` handles the keys."""

    def _act(self, action: Action) -> None:
        self._keys.arm(self._clock() if self._keys.is_awake else None)
        if action.run == "later":
            self.post_message(self.Dismissed())
        elif not self._callers:
            return
        elif action.run == "next":
            self._callers.append(self._callers.pop(0))
            self._show()
        elif action.run in ("allow", "deny"):
            self.post_message(self.Answered(self._callers[0], allow=action.run == "allow"))

    def _show(self) -> None:
        had_focus = self.has_focus
        self.display = bool(self._callers)
        if not self._callers:
            if had_focus:
                self.post_message(self.Dismissed())
            return
        caller, count = self._callers[0], len(self._callers)
        self.border_title = f"1 of {count}" if count > 1 else ""
        self.query_one("#join-request-text", Static).update(_text(caller))
        left_out = frozenset() if count > 1 else frozenset({"next"})
        self._keys.name_keys(_WORDS[type(caller)], left_out)
        key = keymap_of(self).text(Scope.ROOM, "join-requests")
        self._keys.sleep("" if had_focus else f"Press {key} to answer")


def _same(one: Caller, other: Caller) -> bool:
    if isinstance(one, JoinRequested) and isinstance(other, JoinRequested):
        return one.knock == other.knock
    if isinstance(one, Continuation) and isinstance(other, Continuation):
        return one.room == other.room
    return one == other


def _origin(source: str) -> str:
    return "this machine" if source in ("", LOOPBACK) else visible_line(source)


def _text(caller: Caller) -> Content:
    muted = "$foreground-muted"
    if isinstance(caller, HostingOffered):
        return Content.assemble(
            (visible_line(caller.by), "bold"),
            " asks you to host this room.\n",
            ("It goes on at your machine, from your copy, when they leave.", muted),
        )
    if isinstance(caller, Continuation):
        return Content.assemble(
            f"{continues(caller, time.time())}.\n",
            ("If you follow, your copy of this room stays as it is.", muted),
        )
    return Content.assemble(
        "Join request: ",
        (visible_line(caller.name), "bold"),
        ", an agent" if caller.kind == "agent" else "",
        (f", from {_origin(caller.source)}", muted),
        ("\nTheir key in words: ", muted),
        (key_words(caller.key), "$text-accent"),
        (_COMPARE[caller.kind], muted),
    )
