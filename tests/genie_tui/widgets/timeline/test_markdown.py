from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.segment import Segment
from rich.style import Style

from genie_core.room.view.wording import blocks
from genie_core.text.safe import visible
from genie_tui.widgets.timeline.canvas import NAMES, Canvas, Palette
from genie_tui.widgets.timeline.markdown import MOST_CELLS, markdown
from genie_tui.widgets.timeline.prose import links_in, prose

CANVAS = Canvas(Palette({name: Style() for name in NAMES}))


def drawn(text: str, width: int = 40) -> list[str]:
    lines = markdown(text, CANVAS, width)
    return ["".join(segment.text for segment in line).rstrip() for line in lines]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("# Title\n\nbody", ["Title", "", "body"]),
        ("- a\n- b\n  - c", ["• a", "• b", "  • c"]),
        ("9. a\n10. b", [" 9. a", "10. b"]),
        ("- a\n\n- b", ["• a", "", "• b"]),
        ("> quoted\n> more", ["▏ quoted more"]),
        ("```python\nx = 1\n\ny\n```", [" x = 1", "", " y"]),
        ("a\\\nb", ["a", "b"]),
        ("| a | b |\n|---|--:|\n| 1 | 22 |", ["a    b", "──────", "1   22"]),
        ("", [""]),
    ],
)
def test_blocks(text: str, lines: list[str]) -> None:
    assert drawn(text) == lines


def test_an_address_is_always_shown() -> None:
    assert drawn("[my bank](https://evil.example)") == ["my bank (https://evil.example)"]
    assert drawn("![cat](https://x.example/c.png)") == ["image: cat (https://x.example/c.png)"]
    assert drawn("<https://x.example>") == ["https://x.example"]


def links(text: str) -> list[tuple[str, str]]:
    """The hyperlinks of a drawn text: what is shown, and where it leads."""
    lines = [*markdown(text, CANVAS, 80), *CANVAS.lines(prose(text, CANVAS.palette), 80)]
    segments = (segment for line in lines for segment in line)
    return [(each.text, each.style.link) for each in segments if each.style and each.style.link]


def test_only_shown_address_is_link() -> None:
    address = "https://x.example/a?b=c"
    assert links(f"[my bank]({address})") == [(address, address)] * 2
    assert links("mailto:a@x.example") == [("mailto:a@x.example", "mailto:a@x.example")]


@pytest.mark.parametrize(
    "text",
    ["[a](file:///etc/passwd)", "<ssh://x.example>", "https://x.ex\u0430mple", "[a](javascript:b)"],
)
def test_lookalike_addresses_are_no_links(text: str) -> None:
    assert all("xn--" in shown for shown, _ in links(text))
    assert links_in(text) == []


def test_addresses_are_found_in_a_text_once() -> None:
    text = "see https://x.example/a, (https://y.example) and https://x.example/a."
    assert links_in(text) == ["https://x.example/a", "https://y.example"]


def test_html_and_entities_stay_literal() -> None:
    text = "<b>x</b> &#27;[2J &#x202e; &lt; [red]y[/red] [/]"
    assert drawn(text, 80) == [text]


def test_html_blocks_are_shown() -> None:
    assert drawn("<div>\nx\n</div>") == ["<div> x </div>"]


@given(st.text(st.sampled_from("ab \n#*_[]<>!-+1.&;\\\t:")))
def test_any_text_keeps_letters_and_width(text: str) -> None:
    lines = markdown(visible(text), CANVAS, 80)
    shown = "".join(segment.text for line in lines for segment in line)
    for letter in "ab":
        assert shown.count(letter) == text.count(letter)
    assert max(map(Segment.get_line_length, lines)) <= 80


@given(st.integers(1, 60))
def test_words_are_kept_at_every_width(width: int) -> None:
    words = " ".join(drawn("- one **two**\n\n> three `four`\n\n| five |\n|---|\n| six |", width))
    letters = words.replace(" ", "").replace("▏", "")
    for word in ("one", "two", "three", "four", "five", "six"):
        assert word in letters


def test_deep_nesting_ends() -> None:
    assert any("x" in line for line in drawn("> " * 15 + "x", 20))
    assert drawn("> " * 500 + "x", 20)


@pytest.mark.parametrize("mark", ["*", "**", "~~", "_"])
def test_deep_emphasis_loses_nothing(mark: str) -> None:
    text = f"{mark}a " * 300 + f" a{mark}" * 300
    shown = " ".join(drawn(text, 80))
    assert shown.count("a") == 600
    assert mark in shown
    assert drawn(f"{mark}a{mark}") == ["a"]


def test_image_emphasis_is_bounded() -> None:
    deep = "*a " * 300 + " a*" * 300
    assert "https://x.example" in " ".join(drawn(f"![{deep}](https://x.example)", 80))


def test_deep_link_shows_its_address() -> None:
    text = "*a " * 30 + "[bank](https://x.example)" + " a*" * 30
    assert "bank (https://x.example)" in " ".join(drawn(text, 300))


def test_a_huge_table_is_shown_without_columns() -> None:
    text = "|a|b|\n|-|-|\n" + "|one|2|\n" * (MOST_CELLS // 2)
    assert drawn(text)[:2] == ["a     b", "───────"]
    assert drawn(text + "|one|2|\n")[:2] == ["a  b", "one  2"]


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
        ("@ann/@b see @src/a.py.", {"@ann": "mention", "@b": "mention", "@src/a.py": "inline"}),
        ('@"my plan.md", @./make', {'@"my plan.md"': "inline", "@./make": "inline"}),
        ("mail me@x.org", {}),
        ("(https://x.org/a?b=1).", {"https://x.org/a?b=1": "link"}),
        ("use `[/] @x` here", {"[/] @x": "inline"}),
        ("not `code\nacross`", {}),
        ("[bold]markup[/]", {}),
        ("[b](https://x.org).", {"https://x.org": "link"}),
        ("[https://x.org](https://x.org)", {"https://x.org": "link"}),
        ("[b](file:///x) [c](x)", {}),
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


def test_named_link_opens_shown_address() -> None:
    text = "[https://bank.example](https://evil.example/a) and https://x.example/b."
    assert prose(text, PALETTE).plain == (
        "https://bank.example (https://evil.example/a) and https://x.example/b."
    )
    assert links_in(text) == ["https://evil.example/a", "https://x.example/b"]


def test_only_the_ticks_around_code_go() -> None:
    text = "a `b` [red]c[/red]\n  d"
    assert prose(text, PALETTE).plain == "a b [red]c[/red]\n  d"


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
        "[a" * 20_000,
        "[a](http://b" * 4_000,
        "[" + "a" * 40_000,
        "- " * 20_000,
    ],
    ids=lambda text: text[:8],
)
def test_no_pattern_runs_away(text: str) -> None:
    parts = list(blocks(text))
    assert parts == [text]
    assert len(prose(text, PALETTE).plain) <= len(text)


def table(rows: list[list[str]]) -> str:
    head, *body = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([head, "|---" * len(rows[0]) + "|", *body])


CELLS = st.lists(
    st.text(st.sampled_from("abcdefghij0123456789"), min_size=1, max_size=16), max_size=6
).map(" ".join)
TABLES = st.integers(1, 9).flatmap(
    lambda columns: st.lists(
        st.lists(CELLS, min_size=columns, max_size=columns), min_size=1, max_size=6
    )
)


@given(TABLES, st.integers(24, 120))
def test_tables_show_every_word(rows: list[list[str]], width: int) -> None:
    shown = drawn(table(rows), width)
    words = Counter(word.rstrip(":") for line in shown for word in line.split())
    assert Counter(word for row in rows for word in " ".join(row).split()) <= words
    assert all(len(line) <= width for line in shown)


def test_wide_table_shrinks_its_widest_column() -> None:
    text = table([["no", "name", "about"], ["1", "Vega", "a bright star in Lyra " * 3]])
    shown = drawn(text, 40)
    assert shown[0].split() == ["no", "name", "about"]
    assert shown[2].startswith("1    Vega   a bright star")


def test_table_without_room_becomes_a_list() -> None:
    rows = [[f"column{n}" for n in range(9)], [f"value{n}" for n in range(9)], [""] * 9]
    shown = drawn(table(rows), 60)
    assert shown[:2] == ["column0: value0", "column1: value1"]
    assert shown[9:11] == ["", "column0:"]
