"""What-if reports in words."""

import re

from markdown_it import MarkdownIt

from genie_core.assistant.what_if.report import CaseResult, Comparison, Summary, WhatIfReport
from genie_core.room.protocol.events import Spending
from genie_eval.report_text import lines, markdown

EVIL = "\x1b[2J<b>bold</b> ![x](http://evil/) [a](b) `code` **strong** # head\n\n---\n> $x$ a_b_"


def report(text: str = "what is 6*7?", **changes: object) -> WhatIfReport:
    outcome = CaseResult(
        7,
        1_790_000_000.0,
        "bob",
        "ann",
        text,
        Comparison("ignore", "small talk"),
        Comparison("delegate", "a question", text, "bob"),
        wrong=True,
    )
    failure = CaseResult(
        9, 1_790_000_100.0, "ann", "ann", text, Comparison("ignore"), None, "it is away"
    )
    settings: dict[str, object] = {
        "session": "garden-1",
        "title": "Garden",
        "template": "fact_check",
        "model": "ollama:qwen3",
        "at": 1_790_000_200.0,
        "seconds": 3.0,
        "total": 12,
        "summary": Summary(
            agree=9, newly_delegated=1, failed=1, marked=2, right_before=0, right_after=1
        ),
        "spent": (Spending("reasoner", "qwen3", 11, 2_000, 100, cost=0.02),),
        "changed": (outcome,),
        "failures": (failure,),
    }
    return WhatIfReport(**{**settings, **changes})  # type: ignore[arg-type]  # a test's own settings


def test_all_of_it_is_told_in_lines() -> None:
    text = "\n".join(lines(report(stopped="it was interrupted")))
    assert "What if fact_check with ollama:qwen3 had decided" in text
    assert "bob, by ann's engine: what is 6*7?  ! you marked it as wrong" in text
    assert "was  IGNORE    small talk" in text
    assert "now  DELEGATE  a question -> asks for bob: what is 6*7?" in text
    assert "FAILED    it is away" in text
    assert "9 agree, 1 newly delegated, 0 newly ignored, 1 failed" in text
    assert "You marked 2 decisions as wrong: 1 would be decided the other way\n" in text
    assert "Not complete: it was interrupted; 1 message not asked about" in text
    assert "2.1k tok $0.02" in text


def test_hostile_text_stays_in_its_line() -> None:
    evil = report(EVIL, title=EVIL, template=EVIL, model=EVIL, stopped=EVIL)
    assert all(line.isprintable() for line in lines(evil))
    assert len(list(lines(evil))) == len(list(lines(report(stopped="x"))))


def test_hostile_text_is_no_markup() -> None:
    evil = report(EVIL, title=EVIL, template=EVIL, model=EVIL, stopped=EVIL)
    plain = MarkdownIt("commonmark").parse(markdown(report(stopped="x")))
    parsed = MarkdownIt("commonmark").parse(markdown(evil))
    assert [token.type for token in parsed] == [token.type for token in plain]
    kinds = {child.type for token in parsed for child in token.children or ()}
    assert kinds <= {"text", "text_special", "strong_open", "strong_close", "softbreak"}
    shown = "".join(
        child.content for token in parsed for child in token.children or () if child.content
    )
    assert "<b>bold</b> ![x](http://evil/) [a](b) `code` **strong**" in re.sub(r"\s+", " ", shown)


def test_addresses_and_mentions_are_escaped() -> None:
    kept = markdown(report("see https://evil.example, www.evil.example and @ann"))
    assert "https\\://evil.example, www\\.evil.example and \\@ann" in kept
    assert "<a" not in MarkdownIt("gfm-like").disable("linkify").render(kept)
