"""Completion in the composer: the possible completions of a draft, and their list."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, TypeAlias

from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from genie_core.text.safe import visible_line
from genie_tui.emoji import QUICK, emojis

MOST: Final = 8
"""Completions that are offered at once."""

_NAME: Final = re.compile(r"(?:^|[\s(,])@(?P<typed>[^\s@]*)\Z")
_COMMAND: Final = re.compile(r"/(?P<typed>\w*)")
_AGENT_COMMAND: Final = re.compile(r"\s*@?(?:genie|system)[,:]?\s+/(?P<typed>\S*)", re.IGNORECASE)
_EMOJI: Final = re.compile(r"(?:^|\s):(?P<typed>[a-z_]{2,})\Z")
_ARGUMENT: Final = re.compile(r"/(?P<command>\w+) +(?P<rest>[^\n]*)")

Words: TypeAlias = Sequence[tuple[str, str]]
"""Words, each with what it means or nothing."""


def _nothing(_command: str, _rest: str) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Completions:
    """The completions of a room: names for `@`, and commands with their help for `/`.

    Neither names nor commands carry their `@` or `/`. `agent_commands` come behind the agent's name.
    `argument` returns for a command and what
    follows it the end of that, which is being typed, and what it may become; None for nothing.
    """

    names: Sequence[str] = ()
    commands: Words = ()
    argument: Callable[[str, str], tuple[str, Words] | None] = _nothing
    agent_commands: Words = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to complete what is being typed."""

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

    Names of emoji come after a `:`, and are replaced by them. Names of people come after an `@` that starts a word, commands after a `/` that starts the draft, and
    what a command takes after that; the agent's own commands after its name and a `/`.
    """
    if (line := _ARGUMENT.fullmatch(before)) and (
        argument := completions.argument(line["command"], line["rest"])
    ):
        typed, known = argument
        choices = tuple(_matching(typed, "", known))[:MOST]
        return Offer(typed, choices) if choices else None
    if command := _COMMAND.fullmatch(before):
        typed = command["typed"]
        found = _matching(typed, "/", completions.commands)
    elif command := _AGENT_COMMAND.fullmatch(before):
        typed = command["typed"]
        found = _matching(typed, "/", completions.agent_commands)
    elif emoji := _EMOJI.search(before):
        typed = emoji["typed"]
        found = _emoji(typed)
    elif name := _NAME.search(before):
        typed = name["typed"]
        found = _matching(typed, "@", [(known, "") for known in completions.names])
    else:
        return None
    choices = tuple(found)[:MOST]
    return Offer(before[-len(typed) - 1 :], choices) if choices else None


def _emoji(typed: str) -> Iterator[Choice]:
    """Yield the emoji with such a name; those whose name begins with it come first."""
    wanted = typed.replace("_", " ")
    named = [(name, each) for name, each in (*QUICK, *emojis()) if wanted in name]
    named.sort(key=lambda one: not one[0].startswith(wanted))
    for name, each in named:
        yield Choice(each, name)


def _matching(typed: str, sign: str, known: Sequence[tuple[str, str]]) -> Iterator[Choice]:
    """Yield the word itself, matches by prefix, and, from two typed characters on, matches anywhere."""
    wanted = typed.casefold()
    starting = [one for one in known if one[0].casefold().startswith(wanted)]
    starting.sort(key=lambda one: one[0].casefold() != wanted)
    containing = [one for one in known if len(wanted) > 1 and wanted in one[0].casefold()]
    for text, detail in dict.fromkeys([*starting, *containing]):
        yield Choice(sign + text, detail)


class CompletionList(OptionList, can_focus=False):
    """A list that floats above what follows it. Keys never go here: the editor keeps the focus."""

    DEFAULT_CSS: ClassVar[str] = f"""
    CompletionList {{
        display: none;
        overlay: screen;
        constrain: inside inside;
        width: 100%;
        height: auto;
        max-height: {MOST};
        padding: 0;
        border: none;
        background: $panel;
        text-wrap: nowrap;
        text-overflow: ellipsis;
        scrollbar-size-vertical: 1;
        &.-open {{ display: block; }}
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
        self.styles.offset = (0, -min(len(choices), MOST))
