"""A screen above another one, and the guard of its keys."""

from collections.abc import Callable
from functools import partial
from typing import ClassVar, Final

from textual import events
from textual.app import ReturnType
from textual.await_complete import AwaitComplete
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen, ScreenResultType
from textual.widgets import Input, TextArea

from genie_tui.commands.input_queue import UserInput
from genie_tui.commands.key_names import is_character
from genie_tui.commands.keymap import OF_WIDGETS, KeyedApp, Keymap, keymap_of, scopes_of
from genie_tui.widgets.approvals.key_guard import SOON, KeyGuard
from genie_tui.widgets.keys_line import KeysLine, KeyText

LOOK_AGAIN: Final = 0.1
"""Seconds between two checks of whether keys count."""


class TypedText(Message):
    """Text that was typed at a dialog and not meant for it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class Dialog(ModalScreen[ScreenResultType]):
    """A modal screen that is closed once, and whose keys are guarded against typing.

    Two quick key presses may both reach it; without this guard the second would close the screen
    below.

    In a `GuardedApp`, enter and letter keys count as `KeyGuard` says. Letters typed into a text
    count immediately, and so do the keys of `FREE`, which must do no harm. A key that a person
    chose is judged as the default key of its action. A `DialogKeys` shows whether keys count. A
    dialog with its own guard sets `GUARDS_ITSELF`. All keys of one that only shows something, which
    is `READ_ONLY`, count immediately.
    """

    DEFAULT_CSS = """
    Dialog {
        & .dialog {
            width: 80%;
            height: auto;
            padding: 1 2;
            background: $surface;
            border: round $primary;
        }
        & .title { height: auto; text-style: bold; color: $text-primary; }
        & KeyText { height: auto; color: $foreground-muted; }
        & KeysLine.-guarded { color: $text-accent; }
        & DialogKeys.-guarded { color: $text-accent; }
    }
    """

    FREE: ClassVar[frozenset[str]] = frozenset()
    GUARDS_ITSELF: ClassVar[bool] = False
    READ_ONLY: ClassVar[bool] = False

    _key_guard: KeyGuard[None] | None = None

    def on_mount(self) -> None:
        """Update periodically whether keys count."""
        if self._dialog_guard is not None:
            self._show_guard()
            self.set_interval(LOOK_AGAIN, self._show_guard)

    def on_screen_resume(self) -> None:
        self.arm()

    def arm(self) -> None:
        """Ignore keys that were meant for a screen above, or for another program."""
        if self._dialog_guard is not None:
            self._dialog_guard.arm()
        for line in self.query(KeysLine):
            line.arm()

    def admit_key(self, event: events.Key) -> bool:
        """Whether a key may reach the dialog now; a single key may be delivered later."""
        guard = self._dialog_guard
        if guard is None or self._is_harmless(event):
            return True
        if guard.admit_key(event):
            guard.act_alone(self, partial(self._let_in, event))
        self._show_guard()
        return False

    def _is_harmless(self, event: events.Key) -> bool:
        field = self.focused
        if isinstance(field, TextArea) and not field.read_only:
            return True
        if isinstance(field, Input) and event.is_printable:
            return True
        key = self._default_key(event.key)
        return key in self.FREE or not (is_character(key) or key == "enter")

    def _default_key(self, key: str) -> str:
        """Return the default key of the dialog's action that a key runs, otherwise the key."""
        meanings = (keymap_of(self).meaning(scope, key) for scope in scopes_of(self))
        return next((each for each in meanings if each not in ("", key)), key)

    def _let_in(self, event: events.Key) -> None:
        if isinstance(self.app, GuardedApp):
            self.app.call_later(self.app.pass_to, self, event)

    def _show_guard(self) -> None:
        guard = None if "enter" in self.FREE else self._dialog_guard
        guarded = guard is not None and guard.remaining() > 0
        for line in self.query(DialogKeys):
            line.show(guarded=guarded)

    @property
    def _dialog_guard(self) -> KeyGuard[None] | None:
        if self.GUARDS_ITSELF or self.READ_ONLY:
            return None
        if self._key_guard is None and isinstance(self.app, GuardedApp):
            self._key_guard = KeyGuard[None](self.app.clock)
        return self._key_guard

    def write_below(self, text: str) -> None:
        """Pass typed text on to the screen below."""
        if text:
            self.app.screen_stack[-2].post_message(TypedText(text))

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close the dialog with a result if it is on top."""
        return super().dismiss(result) if self.app.screen is self else AwaitComplete()


class DialogKeys(KeyText):
    """The line of a dialog that lists its keys while they count."""

    def __init__(self, keys: Content | str, *, id: str) -> None:  # noqa: A002 - the name of Textual
        super().__init__(keys, id=id)
        self._keys = keys
        self._dialog_guarded = False

    def list(self, keys: Content) -> None:
        """List other keys."""
        self._keys = keys
        if not self._dialog_guarded:
            self.update(keys)

    def show(self, *, guarded: bool) -> None:
        """List the keys, or say that none counts yet."""
        if guarded != self._dialog_guarded:
            self._dialog_guarded = guarded
            self.set_class(guarded, "-guarded")
            self.update(SOON if guarded else self._keys)


class GuardedApp(KeyedApp[ReturnType]):
    """An app that asks a dialog about each key before any binding sees it.

    `clock` is monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float], keymap: Keymap = OF_WIDGETS) -> None:
        super().__init__(keymap)
        self.clock = clock

    async def deliver(self, event: UserInput) -> None:
        """Keep keys from a dialog that does not admit them."""
        top = self.screen_stack[-1] if self.screen_stack else None
        if isinstance(event, events.Key) and isinstance(top, Dialog) and not top.admit_key(event):
            return
        await super().deliver(event)

    async def pass_to(self, dialog: Dialog[object], event: events.Key) -> None:
        """Deliver a delayed key to a dialog if it is still on top."""
        if self.screen is dialog:
            await super().deliver(event)
