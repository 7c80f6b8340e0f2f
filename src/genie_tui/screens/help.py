"""Keys and commands, from their tables."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import Any, Final

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.dom import DOMNode
from textual.geometry import Region
from textual.reactive import reactive
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input

from genie_tui.commands.keymap import Keymap, keymap_of, scopes_of
from genie_tui.commands.keys import GUARDED, TYPED, Action, Scope, bindings, listed
from genie_tui.commands.registry import all_actions, slash_commands, slash_help
from genie_tui.screens.dialogs.dialog import Dialog
from genie_tui.widgets.keys_in_order import LineInput
from genie_tui.widgets.keys_line import KeyText, key_list

KEYS: Final = 20
"""Columns for the keys."""

INDENT: Final = 2
"""Columns before a description below its keys."""

SPACE: Final = 30
"""Minimum columns for the descriptions."""

OTHERS: Final = "Other screens"
"""The heading of actions that have no keys on the screen now."""


@dataclass(frozen=True, slots=True)
class HelpRow:
    """A row of the help: keys or a command, and its effect.

    `action` is None where it can't run here. The row with `unfolds` shows the rows of other
    screens.
    """

    keys: str
    text: str
    action: Action | None = None
    unfolds: bool = False


class HelpText(Widget):
    """Every action with its keys, by scope, then every command that has none of these.

    Scopes in `here` come first; others are folded below them unless there are none, and until they
    are `unfolded` or a text is `wanted`. `custom` are the commands of Markdown files. Only rows
    with that text are listed; a heading that has it lists all below it. One row, at `place`, is
    highlighted.
    """

    wanted: reactive[str] = reactive("", layout=True)
    unfolded: reactive[bool] = reactive(bool, layout=True)
    place: reactive[int] = reactive(0)

    def __init__(
        self,
        here: Sequence[Scope] = (),
        *,
        runs: bool = False,
        custom: Sequence[tuple[str, str]] = (),
        prompts: Sequence[tuple[str, str]] = (),
    ) -> None:
        super().__init__()
        self._custom = custom
        self._here = here
        self._prompts = prompts
        self._runs = runs
        self._rows: list[HelpRow] = []
        self._spans: list[tuple[int, int]] = []
        self.set_reactive(HelpText.unfolded, not here)

    @property
    def highlighted(self) -> HelpRow | None:
        return self._rows[self.place] if self.place < len(self._rows) else None

    @property
    def span(self) -> tuple[int, int]:
        """The first line of the highlighted row, and the number of its lines."""
        return self._spans[self.place] if self.place < len(self._spans) else (0, 1)

    def move(self, step: int) -> None:
        """Highlight the row so many rows away, at most the first or last one."""
        self.place = max(0, min(self.place + step, len(self._rows) - 1))

    def move_lines(self, step: int) -> None:
        """Highlight the row that is about so many lines away."""
        line = self.span[0] + step
        self.place = max(0, bisect_right(self._spans, (max(line, 0), 0)) - 1)

    def render(self) -> Content:
        width = self.content_size.width
        columns = KEYS if width >= KEYS + SPACE else INDENT  # without room: text below the keys
        room = max(width - columns, SPACE)
        self._rows, self._spans = [], []
        lines: list[Content] = []
        for title, rows in self._found():
            lines += [Content("")] * bool(lines)
            if title:
                lines.append(Content.styled(title, "bold $text-accent"))
            for row in rows:
                drawn = _drawn(row, columns, room)
                if len(self._rows) == self.place:
                    drawn = [_marked(line, width) for line in drawn]
                self._rows.append(row)
                self._spans.append((len(lines), len(drawn)))
                lines += drawn
        return Content("\n").join(lines or [Content("No match.")])

    def _found(self) -> Iterator[tuple[str, list[HelpRow]]]:
        """Yield the rows: headings and their rows."""
        keymap, slashes = keymap_of(self), Slashes()
        here = dict.fromkeys(self._here)
        sections = [(each.value, self._section(each, keymap, slashes)) for each in here]
        others = [
            (each.value, self._section(each, keymap, slashes)) for each in Scope if each not in here
        ]
        typed = [HelpRow(usage, text) for usage, text in (*slashes.rest(), *self._prompts)]
        (sections if Scope.ROOM in here else others).append(("Commands", typed))
        sections.append(("Commands from files", [HelpRow(*each) for each in self._custom]))
        yield from self._matching(sections)
        found = list(self._matching(others))
        if not found:
            return
        if self._here and not (self.unfolded or self.wanted):
            yield "", [HelpRow(OTHERS, "", unfolds=True)]
            return
        if self._here:
            yield OTHERS, []
        yield from found

    def _section(self, scope: Scope, keymap: Keymap, slashes: "Slashes") -> list[HelpRow]:
        runs = self._runs and scope in self._here and scope not in GUARDED
        rows: list[HelpRow] = []
        for action in listed(all_actions(scope, keymap)):
            usage, text = slashes.take(action)
            keys = "  ".join(each for each in (action.key_text, usage) if each)
            if not keys:  # which only the palette has
                keys = f"{keymap.text(Scope.APP, 'palette')} {action.label}"
            rows.append(HelpRow(keys, text, action if runs and action.run else None))
        return [*rows, *(HelpRow(*each) for each in TYPED.get(scope, {}).items())]

    def _matching(
        self, sections: list[tuple[str, list[HelpRow]]]
    ) -> Iterator[tuple[str, list[HelpRow]]]:
        for title, rows in sections:
            if found := _matching(self.wanted, title, rows):
                yield title, found


class Slashes:
    """Slash commands, each listed once: beside the keys of an action, or by itself."""

    def __init__(self) -> None:
        self._left = {
            usage.split()[0].removeprefix("/"): (usage, text) for usage, text in slash_help()
        }
        self._names = {
            f"screen.command('{command.name}')": name for name, command in slash_commands().items()
        }

    def take(self, action: Action) -> tuple[str, str]:
        """Return the command for an action if that is not listed yet, and its help."""
        name = action.slash.removeprefix("/") or self._names.get(action.run, "")
        usage, text = self._left.pop(name, ("", ""))
        return usage, text if usage and action.slash else action.help

    def rest(self) -> list[tuple[str, str]]:
        return list(self._left.values())


class HelpScreen(Dialog[Action | None]):
    """Lists keys and commands; typed letters filter them.

    `prompts` are commands of tool servers, with their help, safe to show. Returns the action to
    run, if it `runs` those of the scopes that are `here`.
    """

    CSS_PATH = "help.tcss"
    BINDINGS = bindings(Scope.HELP)

    def __init__(
        self,
        here: Sequence[Scope] = (),
        *,
        runs: bool = False,
        custom: Sequence[tuple[str, str]] = (),
        prompts: Sequence[tuple[str, str]] = (),
    ) -> None:
        super().__init__()
        self._text = HelpText(here, runs=runs, prompts=prompts, custom=custom)

    def compose(self) -> ComposeResult:
        with Vertical(id="help"):
            yield LineInput(placeholder="Type to filter", id="help-filter", compact=True)
            with VerticalScroll(id="help-scroll", can_focus=False):
                yield self._text
            yield KeyText(self._keys(), id="help-keys")

    def on_mount(self) -> None:
        self.watch(self._text, "place", self._moved, init=False)
        self.call_after_refresh(self._show_keys)

    @on(Input.Changed)
    def _filter(self, event: Input.Changed) -> None:
        self._text.wanted = event.value.strip()
        self._text.place = 0
        self.query_one(VerticalScroll).scroll_home(animate=False)
        self.call_after_refresh(self._show_keys)

    @on(Input.Submitted)
    def _run(self) -> None:
        """Run the highlighted row, or show the rows of other screens."""
        row = self._text.highlighted
        if row is not None and row.unfolds:
            self._text.unfolded = True
            self.call_after_refresh(self._moved)
        elif row is not None and row.action is not None:
            _ = self.dismiss(row.action)

    def on_key(self, event: events.Key) -> None:
        """Highlight another row by keys that the filter does not take."""
        key = keymap_of(self).meaning(Scope.HELP, event.key)
        step = {"up": -1, "down": 1}.get(key)
        page = {"pageup": -1, "pagedown": 1}.get(key)
        if step is not None or page is not None:
            event.stop()
        if step is not None:
            self._text.move(step)
        elif page is not None:
            self._text.move_lines(page * max(self.query_one(VerticalScroll).size.height - 2, 1))

    def _moved(self) -> None:
        area = self.query_one(VerticalScroll)
        top, height = self._text.span
        above = 1 if self._text.place else top + 1  # the first heading, too
        area.scroll_to_region(Region(0, top - above, 1, height + above), animate=False)
        self._show_keys()

    def _show_keys(self) -> None:
        if self.is_running:
            self.query_one(KeyText).update(self._keys())

    def _keys(self) -> Content:
        row = self._text.highlighted
        does = "" if row is None else "show" if row.unfolds else "run" if row.action else ""
        enter, *others = keymap_of(self).actions(Scope.HELP)
        shown = [replace(enter, label=does), *others] if does else others
        return Content("type to filter   ") + key_list(shown)


def nodes_at(screen: Screen[Any]) -> dict[Scope, DOMNode]:
    """Return the scopes whose keys work on a screen with the nodes that have them.

    Those that work at the focus come first, nearest first.
    """
    focus = (screen.focused or screen).ancestors_with_self
    shown = [each for each in screen.query("*") if each.is_on_screen]
    nodes: dict[Scope, DOMNode] = {}
    for node in (*focus, *shown):
        for scope in scopes_of(node):
            nodes.setdefault(scope, node)
    if next(iter(nodes), None) is Scope.ROOM:  # the composer has the focus, and no bindings
        return {Scope.COMPOSER: screen, **nodes}
    return nodes | ({Scope.COMPOSER: screen} if Scope.ROOM in nodes else {})


def _marked(line: Content, width: int) -> Content:
    return line.pad_right(max(width - line.cell_length, 0)).stylize(
        "$block-cursor-foreground on $block-cursor-background"
    )


def _matching(wanted: str, title: str, rows: list[HelpRow]) -> list[HelpRow]:
    """Return the rows with a text in them, all if the title has it."""
    wanted = wanted.casefold()
    if wanted in title.casefold():
        return rows
    return [row for row in rows if wanted in row.keys.casefold() or wanted in row.text.casefold()]


def _drawn(row: HelpRow, columns: int, width: int) -> list[Content]:
    """Return the lines of a row: its keys, and the text beside or below them."""
    if row.unfolds:
        return [Content.styled(row.keys, "bold $text-accent")]
    first, *rest = wrap(row.text, width) or [""]
    if len(row.keys) > columns - 2:  # too long to stand beside it
        lines = [Content.styled(row.keys, "$text-primary"), Content(" " * columns + first)]
    else:
        lines = [Content.assemble((f"{row.keys:<{columns}}", "$text-primary"), first)]
    return [*lines, *(Content(" " * columns + line) for line in rest)]
