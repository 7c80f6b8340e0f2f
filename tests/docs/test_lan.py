"""What the page about the network says of limits, bounds, commands and files is so."""

import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

import msgspec
import pytest
from cryptography.exceptions import InvalidSignature
from msgspec.structs import replace
from tests.docs.pages import DOCS, ROOT, names_of_tests, rows
from tests.docs.sample_log import sample_lines
from tests.genie_core.room.founded import founded

from genie_core.room.commands.table import COMMANDS
from genie_core.room.participant.presence import TOKENS_NAME
from genie_core.room.protocol.events import MessageEdited, ReactionChanged, RecoveredEvent
from genie_core.room.protocol.limits import Limits
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.session import WITHHELD_NAME
from genie_core.settings.locations import Locations
from genie_core.storage.blobs import BLOBS_NAME
from genie_tui.cli.commands import parser
from genie_tui.commands.registry import slash_help

PAGE = (DOCS / "lan.md").read_text()
PROTOCOL = (DOCS / "protocol.md").read_text()
TYPED = ["README.md", "CHANGELOG.md", "docs/lan.md", "docs/commands.md"]
TYPED += [
    str(each.relative_to(ROOT))
    for each in sorted((DOCS / "guide").glob("*.md"))
    if each.stem != "plain"
]

UNITS = {"KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
CODE = re.compile(r"`([^`\n]+)`")
NOT_OURS = {"ssh -L"}


def number(text: str) -> float:
    """`256 KiB`, `16,000` or `0.25` as a number."""
    count, _, unit = text.replace(",", "").partition(" ")
    return float(count) * UNITS.get(unit, 1)


@cache
def limits() -> dict[str, list[str]]:
    return {cells[0].strip("`"): cells for cells in rows(PROTOCOL, "limit")}


def bounds_of(field: str) -> tuple[Any, Any]:
    """The least and the greatest value that a limit can be set to, None where there is none."""
    hint = get_type_hints(Limits, include_extras=True)[field]
    (meta,) = (each for each in hint.__metadata__ if isinstance(each, msgspec.Meta))
    least = meta.ge if meta.ge is not None else meta.gt
    return least, meta.le


def test_table_lists_exactly_all_limits() -> None:
    assert list(limits()) == list(Limits.__struct_fields__)


@pytest.mark.parametrize("field", Limits.__struct_fields__)
def test_limit_defaults_and_bounds_match(field: str) -> None:
    _, default, least, most, meaning = limits()[field]
    assert number(default) == getattr(Limits(), field)
    said = number(least.removeprefix("more than ")), number(most) if most else None
    assert said == bounds_of(field)
    assert meaning


def test_the_fixed_bounds_are_those_of_the_code() -> None:
    wrong = []
    for name, value, meaning in rows(PROTOCOL, "bound"):
        module, _, constant = name.strip("`").rpartition(".")
        real = getattr(import_module(f"genie_core.room.{module}"), constant)
        if number(value) != real or not meaning:
            wrong.append(f"{name}: {value}, in the code {real}")
    assert wrong == []


def test_file_table_matches_program() -> None:
    places = Locations(Path("/c"), Path("/d"), Path("/l"))
    for path in (places.keys / "NAME.key", places.certificate, places.sessions / "ID/"):
        assert f"`{path.relative_to(places.data)}" in PAGE
    for name in (TOKENS_NAME, WITHHELD_NAME, f"{BLOBS_NAME}/"):
        assert f"`…/{name}`" in PAGE


def _options() -> set[str]:
    top = parser()
    known: set[str] = set()
    parsers = [top]
    for each in parsers:
        for action in each._actions:
            known.update(action.option_strings)
            if isinstance(action.choices, dict):
                parsers += action.choices.values()
    return known


@pytest.mark.parametrize("page", TYPED)
def test_what_one_can_type_exists(page: str) -> None:
    """Slash commands, options and settings that are named in code."""
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text(), flags=re.DOTALL)
    usages = " ".join(usage for usage, _ in slash_help())
    known = {spec.name for spec in COMMANDS}
    options = {*_options(), *re.findall(r"--\w+", usages)}
    unknown = []
    for code in CODE.findall(text):
        if code in NOT_OURS:
            continue
        if command := re.match(r"/(\w+)(?![\w:])", code):  # with a colon it is a server's prompt
            unknown += [code] if command[1] not in known else []
        unknown += [
            option for option in re.findall(r"(?<!\w)--[\w-]+", code) if option not in options
        ]
    assert unknown == []


def the_check_of_a_log() -> Callable[[list[bytes]], None]:
    """The page's own program."""
    names: dict[str, Any] = {}
    exec(PROTOCOL.partition("```python\n")[2].partition("```")[0], names)  # noqa: S102 - as it is shown
    check: Callable[[list[bytes]], None] = names["check_log"]
    return check


def test_the_way_to_check_a_log_is_right() -> None:
    the_check_of_a_log()(sample_lines())


@pytest.mark.parametrize("is_recovered", [False, True])
@pytest.mark.parametrize("place", range(2, 8))
def test_check_notices_any_repeated_entry(place: int, *, is_recovered: bool) -> None:
    check, log = the_check_of_a_log(), founded("bob")
    said = log.says("bob").seq
    log.add("bob", MessageEdited(said, "yes"))
    log.add("bob", MessageEdited(said, "no"))
    for on in (True, False):
        log.add("bob", ReactionChanged(said, "👍", on=on))
    check(list(map(encode_line, log.events)))
    repeated = log.events[place]
    if is_recovered:
        log.add("ann", RecoveredEvent(replace(repeated, seq=99)))
    else:
        log.take(replace(repeated, seq=log.state.head + 1, parent=log.state.link))
    with pytest.raises(AssertionError):
        check(list(map(encode_line, log.events)))


@pytest.mark.parametrize(
    "words",
    ["Standup", "thanks", "notes.txt", "list_files", "approved", "bob", "Bob asks", 'id":"m4'],
)
def test_log_check_notices_each_change(words: str) -> None:
    check, lines = the_check_of_a_log(), sample_lines()
    places = [place for place, line in enumerate(lines) if words.encode() in line]
    assert places
    for place in places:
        changed = lines[place].replace(words.encode(), words[:-1].encode() + b"?")
        with pytest.raises((InvalidSignature, AssertionError, KeyError)):
            check([*lines[:place], changed, *lines[place + 1 :]])


def test_each_test_that_is_named_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    assert named - names_of_tests() == set()
