"""Completion in the composer: the possible completions of a draft, and their list."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import ClassVar, Final, TypeAlias

from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from genie_core.text.safe import visible_line
from genie_tui.emoji import emojis

MOST: Final = 8
"""Completions that are on the screen together, and the most of emoji, names and files."""

_NAME: Final = re.compile(r"(?:^|[\s(,])@(?P<typed>\"[^\"\n]*|[^\s@\"]*)\Z")
_WORD: Final = re.compile(r"(?:^|[\s(,])(?P<typed>[^\s@\"/:]+)\Z")
_COMMAND: Final = re.compile(r"/(?P<typed>[\w-]*|[\w-]+:\S*)")
_AGENT_COMMAND: Final = re.compile(r"\s*@?(?:genie|system)[,:]?\s+/(?P<typed>\S*)", re.IGNORECASE)
_EMOJI: Final = re.compile(r"(?:^|\s):(?P<typed>[a-z0-9_+-]{2,}:?|[a-z]:)\Z")
_ARGUMENT: Final = re.compile(r"/(?P<command>\w+) +(?P<rest>[^\n]*)")

Words: TypeAlias = Sequence[tuple[str, str]]
"""Words, each with its meaning or nothing."""


def _nothing(_command: str, _rest: str) -> None:
    return None


def _no_files(_typed: str, _most: int) -> Sequence[str]:
    return ()


@dataclass(frozen=True, slots=True)
class Completions:
    """The completions of a room: names and files for `@`, and commands with their help for `/`.

    `files` returns the best paths for the typed text, and at most so many. Neither names nor
    commands carry their `@` or `/`. `agent_commands` come behind the agent's name. `argument`
    returns for a command and the text after it the end of that, which is being typed, and what it
    may become; None for nothing.
    """

    names: Sequence[str] = ()
    commands: Words = ()
    argument: Callable[[str, str], tuple[str, Words] | None] = _nothing
    agent_commands: Words = ()
    files: Callable[[str, int], Sequence[str]] = _no_files


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to complete the current word."""

    text: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Offer:
    """The ways to complete the last `len(typed)` characters before the cursor, best first."""

    typed: str
    choices: tuple[Choice, ...]

    def is_complete(self, choice: Choice) -> bool:
        return choice.text.casefold() == self.typed.casefold()


def offer(before: str, completions: Completions) -> Offer | None:
    """Return the completions of the text before the cursor, None if there are none.

    Names of emoji come after a `:`, and are replaced by them. Names of people come after an `@`
    that starts a word, and after them files; commands after a `/` that starts the draft, and the
    arguments of a command; the agent's own commands after its name and a `/`.
    """
    if (line := _ARGUMENT.fullmatch(before)) and (
        argument := completions.argument(line["command"], line["rest"])
    ):
        typed, known = argument
        choices = tuple(_matching(typed, "", known))
        return Offer(typed, choices) if choices else None
    found: Iterator[Choice]
    most: int | None = None
    if command := _COMMAND.fullmatch(before):
        typed = command["typed"]
        found = _matching(typed, "/", completions.commands)
    elif command := _AGENT_COMMAND.fullmatch(before):
        typed = command["typed"]
        found = _matching(typed, "/", completions.agent_commands)
    elif emoji := _EMOJI.search(before):
        typed, most = emoji["typed"], MOST
        found = _emoji(typed)
    elif name := _NAME.search(before):
        typed, most = name["typed"], MOST
        found = chain(
            _matching(typed, "@", [(known, "") for known in completions.names]),
            (Choice(f"@{path}") for path in completions.files(typed, MOST)),
        )
    else:
        return None
    choices = tuple(islice(found, most))
    return Offer(before[-len(typed) - 1 :], choices) if choices else None


def offer_names(before: str, names: Sequence[str]) -> Offer | None:
    """Return the names that the word before the cursor may begin, without an `@`; None for none."""
    word = _WORD.search(before)
    if word is None:
        return None
    typed = word["typed"].casefold()
    found = [Choice(f"@{name}") for name in names if name.casefold().startswith(typed)]
    return Offer(word["typed"], tuple(found[:MOST])) if found else None


def _emoji(typed: str) -> Iterator[Choice]:
    """Yield the emoji with such a name, each once, the closest names first.

    A second colon ends the name. Digits, as in a time, must begin it.
    """
    wanted = typed.rstrip(":").replace("_", " ")
    found: list[tuple[int, int, str, str]] = []
    for each, names in emojis():
        ranked = [(_closeness(name, wanted), len(name), name) for name in names]
        rank, length, name = min(ranked)
        found += [(rank, length, name, each)] * (rank < 4)
    found.sort(key=lambda one: one[:2])
    if typed.endswith(":") or wanted[0].isdigit():
        found = [one for one in found if one[0] <= (0 if typed.endswith(":") else 1)]
    for _, _, name, each in found:
        yield Choice(each, name)


def _closeness(name: str, wanted: str) -> int:
    """Rank a name: as typed, beginning with it, with a word beginning with it, with it, or not."""
    ranks = (name == wanted, name.startswith(wanted), f" {wanted}" in name, wanted in name, True)
    return ranks.index(True)


def _matching(typed: str, sign: str, known: Sequence[tuple[str, str]]) -> Iterator[Choice]:
    """Yield the word itself, matches by prefix, and, from two typed characters on, matches anywhere."""
    wanted = typed.casefold()
    starting = [one for one in known if one[0].casefold().startswith(wanted)]
    starting.sort(key=lambda one: one[0].casefold() != wanted)
    containing = [one for one in known if len(wanted) > 1 and wanted in one[0].casefold()]
    for text, detail in dict.fromkeys([*starting, *containing]):
        yield Choice(sign + text, detail)


class CompletionList(OptionList, can_focus=False):
    """A list that floats above other widgets. Keys never go here: the editor keeps the focus."""

    DEFAULT_CSS: ClassVar[str] = f"""
    CompletionList {{
        display: none;
        overlay: screen;
        constrain: inside inside;
        width: 100%;
        height: auto;
        max-height: {MOST + 1};
        padding: 0;
        border: none;
        background: $panel;
        text-wrap: nowrap;
        text-overflow: ellipsis;
        scrollbar-size-vertical: 0;
        border-subtitle-color: $text-primary;
        border-subtitle-align: left;
        &.-open {{ display: block; }}
        &.-more {{ border-bottom: blank $panel; }}
        & > .option-list--option {{ color: $foreground; padding: 0 1; }}
        & > .option-list--option-highlighted {{
            color: $block-cursor-foreground;
            background: $block-cursor-background;
        }}
    }}
    """

    def show(self, choices: Sequence[Choice]) -> None:
        """Offer these, the first highlighted; nothing is shown if there are none."""
        self.clear_options()
        self.set_class(bool(choices), "-open")
        if not choices:
            return
        widest = max(len(choice.text) for choice in choices)
        for choice in choices:
            detail = f"  {visible_line(choice.detail)}" if choice.detail else ""
            label = visible_line(choice.text).ljust(widest)
            self.add_option(Option(Content.assemble(label, (detail, "dim"))))
        self.highlighted = 0
        has_more = len(choices) > MOST
        self.set_class(has_more, "-more")
        self.styles.offset = (0, -min(len(choices), MOST) - has_more)
        self._count_below()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Count the choices below those on the screen."""
        super().watch_scroll_y(old_value, new_value)
        self._count_below()

    def _count_below(self) -> None:
        below = self.option_count - MOST - round(self.scroll_target_y)
        self.border_subtitle = f"↓ {below} more" if below > 0 else ""
