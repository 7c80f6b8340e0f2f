"""Text of which Markdown makes nothing else."""

import re
from html import unescape

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from genie_core.sessions.export.markdown_escape import escape
from genie_core.text.safe import visible

RENDERERS = [MarkdownIt("commonmark"), MarkdownIt("gfm-like", {"linkify": False, "html": True})]

HOSTILE = st.one_of(
    st.text(max_size=60),
    st.text(alphabet="\\`*_{}[]<>()#+-.!|~&$=:;@\"' \t\n0123456789ax/", max_size=60),
    st.lists(
        st.sampled_from(
            [
                "<script>",
                "# h",
                "- x",
                "1. x",
                "2) x",
                "```",
                "~~~",
                "    code",
                "> q",
                "---",
                "===",
                "[a](b)",
                "![a](b)",
                "[a]: b",
                "[^1]: b",
                "&lt;",
                "http://a_b.c/*",
                "<a@b.c>",
                "www.a_b.c",
                "a  ",
                "a\\",
                "\\",
                "***",
                "+ x",
                "\t",
                "",
                "<!--",
                "]]>",
            ]
        ),
        max_size=6,
    ).map("\n".join),
)


def as_read(text: str) -> list[str]:
    """The lines in which a reader sees anything, without the space around them."""
    return [line.strip() for line in text.split("\n") if line.strip()]


@pytest.mark.parametrize("renderer", RENDERERS)
@given(raw=HOSTILE)
@example("1986. A great year")
@example("   indented\n\tmore")
@example("a\n===\nb")
@example("a\n \n\n  ")
@example(" \na\n\u2003")
@example("* *\n_ _")
def test_any_text_is_rendered_as_itself(renderer: MarkdownIt, raw: str) -> None:
    text = visible(raw)
    page = renderer.render(f"**ann**\\\n{escape(text) or '…'}")
    shown = re.sub(r"</?p>|<br ?/?>", "", page.replace("<p><strong>ann</strong>", "", 1))
    assert "<" not in shown
    assert as_read(unescape(shown)) == (as_read(text) or ["…"])


@pytest.mark.parametrize("renderer", RENDERERS)
def test_indentation_is_kept_and_means_no_code(renderer: MarkdownIt) -> None:
    page = renderer.render(escape("if x:\n    y()\n\n        z()"))
    assert page == "<p>if x:<br />\n{0}y()</p>\n<p>{0}{0}z()</p>\n".format("\u00a0" * 4)
