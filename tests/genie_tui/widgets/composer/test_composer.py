from typing import ClassVar

import pytest
from tests.genie_tui.scripted_room import until
from textual import events, on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.pilot import Pilot
from textual.widgets import Static

from genie_tui.widgets.composer.completion import CompletionList, Completions
from genie_tui.widgets.composer.composer import Composer, Editor

GLOBAL = ("ctrl+q", "ctrl+c", "f1", "f6", "f7", "ctrl+g")
READING = ("pageup", "pagedown", "escape")


class Host(App[None]):
    """A composer under something else, and what it reports."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding(key, f"note('{key}')", key) for key in GLOBAL]
    CSS = "Static { height: 1fr; }"

    def __init__(self, *, limit: int = 100) -> None:
        super().__init__()
        self.limit = limit
        self.sent: list[str] = []
        self.edits = 0
        self.noted: list[str] = []

    def compose(self) -> ComposeResult:
        yield Static("above")
        composer = Composer()
        composer.limit = lambda: self.limit
        yield composer

    def on_mount(self) -> None:
        self.composer.candidates = lambda: Completions(
            ("ann", "bob", "genie"), (("help", "show the [keys]"), ("who", "who is here"))
        )
        self.composer.focus()

    @property
    def composer(self) -> Composer:
        return self.query_one(Composer)

    @property
    def offered(self) -> list[str]:
        choices = self.query_one(CompletionList)
        if not choices.display:
            return []
        return [
            str(choices.get_option_at_index(i).prompt).rstrip() for i in range(choices.option_count)
        ]

    def action_note(self, key: str) -> None:
        self.noted.append(key)

    @on(Composer.Submitted)
    def _submitted(self, message: Composer.Submitted) -> None:
        self.sent.append(message.text)

    @on(Composer.Reading)
    def _reading(self, message: Composer.Reading) -> None:
        self.noted.append(message.key)

    @on(Composer.Edited)
    def _edited(self) -> None:
        self.edits += 1


async def paste(pilot: Pilot[None], text: str) -> None:
    focused = pilot.app.focused
    assert focused is not None
    focused.post_message(events.Paste(text))
    await pilot.pause()


async def test_enter_sends_and_empties() -> None:
    app = Host()
    async with app.run_test() as pilot:
        await pilot.press(*"hello", "enter")
        assert app.sent == ["hello"]
        assert app.composer.draft == ""
        await pilot.press(*"   ", "enter")
        assert app.sent == ["hello"]


@pytest.mark.parametrize("key", ["shift+enter", "ctrl+j", "alt+enter"])
async def test_other_enters_start_a_line(key: str) -> None:
    app = Host()
    async with app.run_test() as pilot:
        await pilot.press("a", key, "b")
        assert app.composer.draft == "a\nb"
        assert app.sent == []
        await pilot.press("enter")
        assert app.sent == ["a\nb"]


async def test_pasting_never_sends() -> None:
    app = Host()
    async with app.run_test() as pilot:
        await pilot.press("x")
        await paste(pilot, "aaaa\r\nb\rc\n\td\x1b[31m")
        assert app.sent == []
        assert app.composer.draft == "xaaaa\nb\nc\n\td␛[31m"


async def test_pasting_replaces_what_is_selected() -> None:
    app = Host()
    async with app.run_test() as pilot:
        await pilot.press(*"abc", "shift+left", "shift+left")
        await paste(pilot, "X")
        await pilot.press("y")
        assert app.composer.draft == "aXy"


@pytest.mark.parametrize("lines", [1, 3, 8, 9, 12, 30, 50])
async def test_a_paste_can_be_undone_and_redone(lines: int) -> None:
    app = Host(limit=1000)
    text = "\n".join(str(number) for number in range(lines))
    async with app.run_test(size=(60, 24)) as pilot:
        app.composer.query_one(Editor).post_message(events.Paste(text))
        await pilot.pause()
        await pilot.press("ctrl+underscore")
        assert app.composer.draft == ""
        await pilot.press("ctrl+y")
        assert app.composer.draft == text


async def test_composer_grows_to_eight_lines() -> None:
    app = Host()
    async with app.run_test(size=(60, 30)) as pilot:
        assert app.composer.size.height == 3
        app.composer.draft = "\n" * 3
        await pilot.pause()
        assert app.composer.size.height == 6
        app.composer.draft = "\n" * 30
        await pilot.pause()
        assert app.composer.size.height == 10


async def test_up_recalls_sent_and_down_draft() -> None:
    app = Host()
    async with app.run_test() as pilot:
        await pilot.press(*"one", "enter", *"two", "enter", *"draft")
        await pilot.press("up")
        assert app.composer.draft == "two"
        await pilot.press("up", "up")
        assert app.composer.draft == "one"
        await pilot.press("down", "down")
        assert app.composer.draft == "draft"
        await pilot.press("!")
        assert app.composer.draft == "draft!"


async def test_arrows_move_within_several_lines_first() -> None:
    app = Host()
    async with app.run_test(size=(30, 20)) as pilot:
        await pilot.press(*"old", "enter")
        app.composer.draft = "x" * 60  # wraps over three lines
        await pilot.press("up", "up")
        assert app.composer.draft == "x" * 60
        await pilot.press("up")
        assert app.composer.draft == "old"
        await pilot.press("down")
        assert app.composer.draft == "x" * 60


async def test_names_are_offered_above_and_accepted() -> None:
    app = Host()
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.press(*"hi @")
        await pilot.pause()
        assert app.offered == ["@ann", "@bob", "@genie"]
        choices = app.query_one(CompletionList)
        assert choices.region.bottom == app.composer.region.y
        assert isinstance(app.focused, Editor)
        await pilot.press("down", "tab")
        assert app.composer.draft == "hi @bob "
        assert app.offered == []
        assert app.sent == []


async def test_hidden_commands_are_counted() -> None:
    app = Host()
    async with app.run_test(size=(80, 24)) as pilot:
        app.composer.candidates = lambda: Completions(
            commands=[(f"command{n:02}", "does it") for n in range(20)]
        )
        await pilot.press("/")
        choices = app.query_one(CompletionList)
        await until(pilot, lambda: choices.border_subtitle == "↓ 12 more")
        assert choices.region.bottom == app.composer.region.y
        await pilot.press(*["down"] * 9)
        await until(pilot, lambda: choices.border_subtitle == "↓ 10 more")
        await pilot.press("enter")
        assert app.composer.draft.rstrip() == "/command09"


async def test_enter_accepts_before_it_sends() -> None:
    app = Host()
    async with app.run_test() as pilot:
        await pilot.press(*"@ge", "enter")
        assert (app.composer.draft, app.sent) == ("@genie ", [])
        await pilot.press(*"hi", "enter")
        assert app.sent == ["@genie hi"]


async def test_what_is_typed_in_full_is_sent_at_once() -> None:
    app = Host()
    async with app.run_test() as pilot:
        await pilot.press(*"/who", "enter")
        assert app.sent == ["/who"]
        assert app.offered == []


@pytest.mark.parametrize(
    ("typed", "draft"), [("bo", "@bob "), ("hi Ge", "hi @genie "), ("xyz", "xyz"), ("", "")]
)
async def test_tab_completes_bare_name_in_place(typed: str, draft: str) -> None:
    app = Host()
    async with app.run_test() as pilot:
        await pilot.press(*typed, "tab", "tab")
        assert app.composer.draft == draft
        assert isinstance(app.focused, Editor)
        await pilot.press("x")
        assert app.composer.draft == f"{draft}x"


async def test_tab_offers_names_if_several_begin_so() -> None:
    app = Host()
    async with app.run_test() as pilot:
        app.composer.candidates = lambda: Completions(("ann", "anton", "bob"))
        await pilot.press("a", "n", "tab")
        assert app.offered == ["@ann", "@anton"]
        await pilot.press("down", "tab")
        assert app.composer.draft == "@anton "


async def test_escape_closes_choices_first() -> None:
    app = Host()
    async with app.run_test() as pilot:
        await pilot.press(*"/h")
        await pilot.pause()
        assert app.offered == ["/help  show the [keys]"]
        await pilot.press("escape")
        assert app.offered == []
        assert app.noted == []
        await pilot.press("escape")
        assert app.noted == ["escape"]
        assert app.composer.draft == "/h"


async def test_a_choice_can_be_clicked() -> None:
    app = Host()
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.press("@")
        await pilot.pause()
        await pilot.click(CompletionList, offset=(2, 2))
        await pilot.pause()
        assert app.composer.draft == "@genie "
        assert isinstance(app.focused, Editor)


async def test_leaving_the_word_closes_the_choices() -> None:
    app = Host()
    async with app.run_test() as pilot:
        await pilot.press(*"@a")
        assert app.offered
        await pilot.press("left")
        await pilot.pause()
        assert app.offered == []


async def test_history_opens_no_choices() -> None:
    app = Host()
    async with app.run_test() as pilot:
        await pilot.press(*"/who", "enter", *"x", "enter", "up", "up")
        await pilot.pause()
        assert app.composer.draft == "/who"
        assert app.offered == []


async def test_only_the_persons_edits_are_reported() -> None:
    app = Host()
    async with app.run_test() as pilot:
        app.composer.draft = "from elsewhere"
        await pilot.pause()
        assert app.edits == 0
        await pilot.press("a", "backspace")
        assert app.edits == 2
        await pilot.press("enter")
        await pilot.pause()
        assert app.edits == 2


async def test_composer_marks_text_over_limit() -> None:
    app = Host(limit=10)
    async with app.run_test() as pilot:
        editor = app.query_one(Editor)
        app.composer.draft = "123456789"
        assert str(editor.border_subtitle) == "9 of 10 characters"
        await pilot.press(*"ab")
        assert app.composer.draft == "123456789ab"
        assert app.composer.has_class("-too-long")
        await pilot.press("backspace", "enter")
        assert app.sent == ["123456789a"]
        assert not app.composer.has_class("-too-long")


async def test_keys_of_the_app_pass_through() -> None:
    app = Host()
    async with app.run_test() as pilot:
        await pilot.press(*"abc", "shift+left", *GLOBAL)
        assert app.noted == list(GLOBAL)
        app.noted.clear()
        await pilot.press(*READING)
        assert app.noted == list(READING)
        assert app.composer.draft == "abc"


async def test_early_draft_is_kept() -> None:
    composer = Composer()
    composer.draft = "early"

    class Early(App[None]):
        def compose(self) -> ComposeResult:
            yield composer

    async with Early().run_test() as pilot:
        await pilot.pause()
        assert composer.draft == "early"


async def test_a_huge_paste_is_cut_and_says_so() -> None:
    app = Host(limit=100)
    async with app.run_test() as pilot:
        editor = app.query_one(Editor)
        await pilot.press(*"abc", "shift+left")
        await paste(pilot, "x" * 1_000_000)
        assert app.composer.draft == "ab" + "x" * 98
        assert "999,902 characters are missing" in str(editor.border_subtitle)
        assert not app.composer.has_class("-too-long")
        await pilot.press("backspace")
        assert "999,902 characters are missing" in str(editor.border_subtitle)
        await pilot.press("enter")
        assert app.sent == ["ab" + "x" * 97]
        assert "missing" not in str(editor.border_subtitle)


async def test_slightly_long_paste_is_kept() -> None:
    app = Host(limit=100)
    async with app.run_test() as pilot:
        await paste(pilot, "x" * 130)
        assert app.composer.draft == "x" * 130
        assert app.composer.has_class("-too-long")
        await paste(pilot, "y" * 5_000)
        assert app.composer.draft == "x" * 130
