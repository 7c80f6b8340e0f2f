"""CSS is parsed once for a theme, and shows the same as Textual's own stylesheet."""

import pytest
from textual.app import App, ComposeResult
from textual.css import parse as parser
from textual.screen import Screen
from textual.widgets import Static

from genie_tui.stylesheet import KeepingStylesheet


class _Other(Screen[None]):
    CSS = "_Other Static { color: $accent; height: 3; }"

    def compose(self) -> ComposeResult:
        yield Static("other")


class _App(App[None]):
    CSS = "Static { background: $primary; }"

    def __init__(self) -> None:
        super().__init__()
        self.stylesheet = KeepingStylesheet(self.get_css_variables())

    def compose(self) -> ComposeResult:
        yield Static("first")


async def test_a_new_screen_parses_its_own_css_only(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def parse(scope: str, css: str, *args: object, **kwargs: object) -> object:
        parsed.append(css)
        return original(scope, css, *args, **kwargs)  # type: ignore[arg-type]

    original = parser.parse
    monkeypatch.setattr("textual.css.stylesheet.parse", parse)
    app = _App()
    async with app.run_test() as pilot:
        parsed.clear()
        await app.push_screen(_Other())
        await pilot.pause()
        assert _Other.CSS in parsed
        assert _App.CSS not in parsed
        assert app.screen.query_one(Static).size.height == 3


async def test_new_theme_recolours_parsed_css() -> None:
    app = _App()
    async with app.run_test() as pilot:
        before = app.screen.query_one(Static).styles.background
        app.theme = "nord"
        await pilot.pause()
        assert app.screen.query_one(Static).styles.background != before
