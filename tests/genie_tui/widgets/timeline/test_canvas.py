from time import perf_counter

from rich.style import Style

from genie_tui.widgets.timeline.canvas import LONGEST, NAMES, Palette, highlight

PALETTE = Palette({name: Style(meta={"name": name}) for name in NAMES})


def kinds(code: str, language: str) -> dict[str, str]:
    text = highlight(code, language, PALETTE)
    assert text.plain == code
    return {
        text.plain[span.start : span.end]: span.style.meta["name"]
        for span in text.spans
        if isinstance(span.style, Style) and span.style.meta
    }


def test_kinds_of_words_are_told_apart() -> None:
    found = kinds('def f():\n    return "x", 42  # why', "python")
    assert found["def"] == "keyword"
    assert found["f"] == "name"
    assert found["42"] == "number"
    assert found["# why"] == "comment"
    assert found["x"] == "string"


def test_an_unknown_language_stays_plain() -> None:
    assert kinds("def f(): ...", "no-such-language") == {}
    assert kinds("def f(): ...", "") == {}


def test_long_code_stays_plain() -> None:
    assert kinds("1\n" * LONGEST, "python") == {}


def test_a_diff_shows_what_came_and_went() -> None:
    found = kinds("-old\n+new", "diff")
    assert found["-old"] == "failed"
    assert found["+new"] == "done"


def test_timeout_ends_colours_not_code() -> None:
    code = "s{" * 9_000
    assert highlight(code, "perl", PALETTE, until=0.0).spans == []
    assert highlight(code, "perl", PALETTE, until=perf_counter() + 0.05).plain == code
