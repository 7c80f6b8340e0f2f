"""The code on the screen is the code that the standard asks for."""

import pytest
import segno
from rich.console import Console
from textual.color import Color
from textual.content import Content

from genie_core.room.protocol.address import Address
from genie_core.room.security.invite import Invite, write_invite
from genie_tui.widgets.qr import QUIET, qr_code

INVITE = write_invite(
    Invite(
        (Address("192.168.178.101", 7654), Address("10.20.30.40", 7654)),
        pin="A" * 43,
        pass_id="zH5amHg",
        secret=bytes(16),
        title="Stand-up",
    )
)
DARK = {" ": (0, 0), "▀": (1, 0), "▄": (0, 1), "█": (1, 1)}


def modules(content: Content) -> list[list[int]]:
    """Read the cells back, two rows from every line."""
    rows: list[list[int]] = []
    for line in content.plain.split("\n"):
        rows += ([DARK[char][half] for char in line] for half in (0, 1))
    return rows


@pytest.mark.parametrize("quiet", [0, 1, 2, QUIET])
@pytest.mark.parametrize("text", [INVITE, "genie1-a", INVITE + "a" * 400])
def test_every_module_is_where_it_belongs(text: str, quiet: int) -> None:
    expected = [list(row) for row in segno.make(text.upper(), error="L", micro=False).matrix]
    size = len(expected)
    shown = modules(qr_code(text, quiet=quiet))
    inner = [row[quiet : quiet + size] for row in shown[quiet : quiet + size]]
    assert inner == expected


@pytest.mark.parametrize("text", [INVITE, "genie1-a"])
def test_a_margin_of_four_modules_surrounds_it(text: str) -> None:
    shown = modules(qr_code(text))
    size = len(list(segno.make(text.upper(), error="L", micro=False).matrix))
    assert {len(row) for row in shown} == {size + 2 * QUIET}
    assert len(shown) - (size + 2 * QUIET) in (0, 1)  # an odd number of rows gets one more
    edges = [*shown[:QUIET], *shown[QUIET + size :]]
    edges += [row[:QUIET] + row[QUIET + size :] for row in shown]
    assert not any(map(any, edges))


def test_it_is_black_on_white_everywhere() -> None:
    content = qr_code(INVITE)
    (span,) = content.spans
    assert (span.start, span.end) == (0, len(content.plain))
    assert not isinstance(span.style, str)
    assert span.style.background == Color(255, 255, 255)
    assert span.style.foreground == Color(0, 0, 0)


def test_two_address_invite_fits_screen() -> None:
    lines = qr_code(INVITE, quiet=2).plain.split("\n")
    assert (len(lines[0]), len(lines)) <= (49, 25)
    assert Console(width=80).measure(lines[0]).maximum == len(lines[0])
