"""Markdown that people write, written anew: it means the same and is never HTML."""

import re
from html import unescape

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from tests.genie_core.sessions.export.test_markdown_escape import HOSTILE, RENDERERS

from genie_core.sessions.export.rich_text import rich_text
from genie_core.sessions.export.safe_markdown import safe_markdown
from genie_core.text.safe import visible

GFM = RENDERERS[1]
KEPT = {
    *("p", "em", "strong", "s", "code", "pre", "a", "ul", "ol", "li", "blockquote", "br", "hr"),
    *("h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
}
MARKUP = st.one_of(
    HOSTILE,
    st.lists(
        st.sampled_from(
            [
                *(
                    "*a*",
                    "**b**",
                    "~~c~~",
                    "_d_",
                    "`e`",
                    "``f`g``",
                    "[h](http://a.b)",
                    "<http://a.b>",
                ),
                *(
                    "\n",
                    "\n\n",
                    "- i\n",
                    "  - j\n",
                    "1. k\n",
                    "> l\n",
                    "# m\n",
                    "```x\nn\n```\n",
                    "    o\n",
                ),
                *(
                    "| a | b |\n|--|:-:|\n| `p|q` | r |\n",
                    "---\n",
                    " ",
                    "*",
                    "`",
                    "[",
                    "|",
                    "\\",
                    "&amp;",
                ),
                *(
                    "http://a.b/c",
                    "http://a.b?c=<script>",
                    "[^1]",
                    "[^1]: s",
                    "[t]: http://a.b",
                    "![u](v)",
                ),
                *(
                    "<script>x</script>",
                    "<!--",
                    "```mermaid\nw\n```\n",
                    "\n===\n",
                    "* * *\n",
                    "+ x\n",
                ),
            ]
        ),
        max_size=8,
    ).map("".join),
)


def read(page: str) -> str:
    """What a reader reads, without space."""
    return "".join(unescape(re.sub(r"<[^>]*>", "", page)).split())


@pytest.mark.parametrize("renderer", RENDERERS)
@settings(max_examples=300)
@given(raw=MARKUP, breaks=st.booleans())
@example(raw="*a***b**", breaks=True)
@example(raw="`\n\n<script>", breaks=False)
def test_text_reads_same_without_html(renderer: MarkdownIt, raw: str, breaks: bool) -> None:
    text = visible(raw)
    page = renderer.render(safe_markdown(text, breaks=breaks))
    assert set(re.findall(r"<(\w+)", page)) <= KEPT
    assert not re.findall(r'(?<=href=")(?!https?://|mailto:)[^"]*', page)
    if renderer is GFM and "```" not in text:  # the language of code is shown in one of them only
        assert read(page) in (read(rich_text(text, breaks=breaks)), "".join(text.split()))


def test_markdown_stays_markdown() -> None:
    text = (
        "##### Options\n\nHello *you* and **me**\\\nsee [this](<https://a.b/c>)\n\n"
        "- one\n  - two\n- three\n\n| a | b |\n| --: | --- |\n| 1 | `2` |\n\n"
        "```python\nx = 1  # *no*\n```\n\n> quoted\n\n---"
    )
    assert safe_markdown(text.replace("#####", "##").replace("\\\n", "\n"), breaks=True) == text


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("![x](http://a.b/c.png)", "\\![x](<http://a.b/c.png>)"),
        ("![](http://a.b/c.png)", "\\![](<http://a.b/c.png>)"),
        ("wow![x](http://a.b)", "wow\\![x](<http://a.b>)"),
    ],
)
def test_no_picture_is_loaded(text: str, kept: str) -> None:
    assert safe_markdown(text) == kept
    assert "<img" not in GFM.render(kept)


def test_diagrams_are_shown_as_code() -> None:
    assert safe_markdown("```mermaid\nx\n```") == "mermaid:\n\n```\nx\n```"
