import pytest
from rich.style import Style

from genie_tui.fenced import blocks
from genie_tui.widgets.palette import HUES, NAMES, Palette
from genie_tui.widgets.prose import prose

PALETTE = Palette({name: Style(meta={"name": name}) for name in NAMES})


def styled(text: str) -> dict[str, str]:
    shown = prose(text, PALETTE)
    return {
        shown.plain[span.start : span.end]: span.style.meta["name"]
        for span in shown.spans
        if isinstance(span.style, Style)
    }


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("hi @ann, see @b.c.", {"@ann": "mention", "@b.c": "mention"}),
        ("mail me@x.org", {}),
        ("(https://x.org/a?b=1).", {"https://x.org/a?b=1": "link"}),
        ("use `[/] @x` here", {"[/] @x": "inline"}),
        ("not `code\nacross`", {}),
        ("[bold]markup[/]", {}),
    ],
)
def test_what_is_picked_out(text: str, parts: dict[str, str]) -> None:
    assert styled(text) == parts


@pytest.mark.parametrize(
    ("text", "shown", "strong", "emphatic"),
    [
        ("it is **very** good", "it is very good", ["very"], []),
        ("_so_ *so*", "so so", [], ["so", "so"]),
        ("2 * 3 * 4 and a_b_c", "2 * 3 * 4 and a_b_c", [], []),
        ("**not\nacross**", "**not\nacross**", [], []),
        (r"\*so\* **\*** \_x\_", r"\*so\* **\*** \_x\_", [], []),
        ("f(*args, **kwargs)", "f(*args, **kwargs)", [], []),
    ],
)
def test_emphasis(text: str, shown: str, strong: list[str], emphatic: list[str]) -> None:
    drawn = prose(text, PALETTE)
    styles = [(drawn.plain[s.start : s.end], s.style) for s in drawn.spans]
    assert drawn.plain == shown
    assert [part for part, style in styles if isinstance(style, Style) and style.bold] == strong
    assert [part for part, style in styles if isinstance(style, Style) and style.italic] == emphatic


def test_only_the_ticks_around_code_go() -> None:
    text = "a `b` [red]c[/red]\n  d"
    assert prose(text, PALETTE).plain == "a b [red]c[/red]\n  d"


def test_an_author_keeps_a_colour_and_authors_differ() -> None:
    names = [f"person-{number}" for number in range(40)]
    assert [PALETTE.author(name) for name in names] == [PALETTE.author(name) for name in names]
    assert len({PALETTE.author(name).meta["name"] for name in names}) == HUES


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "text",
    [
        "```a\n" * 40_000,
        "   ```a\n" * 20_000,
        "```" + " " * 40_000 + "x y",
        "`" * 40_000,
        "**a" * 15_000,
        "_a " * 15_000,
        "@a" + "." * 40_000,
        "http://" + "." * 40_000,
        "http://. " * 5_000,
    ],
    ids=lambda text: text[:8],
)
def test_no_pattern_runs_away(text: str) -> None:
    parts = list(blocks(text))
    assert parts == [text]
    assert len(prose(text, PALETTE).plain) <= len(text)
