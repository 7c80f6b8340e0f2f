"""A room as a page on which no text becomes markup."""

import base64
from collections import Counter
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.genie_core.sessions.sample import BORN, saved_room

from genie_core.room.protocol.events import (
    AnswerPosted,
    AnyBody,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    FileRef,
    MemberJoined,
    MemberModerated,
    MessageDeleted,
    MessageEdited,
    MessagePosted,
    Quote,
    QuotedLine,
    RecoveredEvent,
    RoomCreated,
    RunCancelled,
    RunFailed,
    Spending,
    UnreadableEvent,
)
from genie_core.room.view.wording import DELETED
from genie_core.sessions.export.html import html
from genie_core.sessions.export.markdown import markdown
from genie_core.sessions.export.rich_text import HIGHLIGHTED, is_plain, parser, rich_text
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.session import SavedSession
from genie_core.text.format import local_time
from genie_core.text.safe import visible

RICH = {
    *("p", "em", "strong", "s", "code", "pre", "a", "ul", "ol", "li", "blockquote", "br", "hr"),
    *("h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td", "div", "span"),
}
"""The tags that Markdown may make."""

KINDS = {
    "c",
    "k",
    "s",
    "n",
    "f",
    "b",
    "del",
    "ins",
    "language",
    "typed",
    "table",
    "right",
    "center",
}
KINDS |= {"text"}

VOID = {"meta", "img", "link", "input", "br", "hr", "base"}


class Page(HTMLParser):
    """What a browser would make of a page: its tags, their attributes and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.others: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open[-1:] != ["style"]:
            self.text += data

    def handle_comment(self, data: str) -> None:
        self.others.append(data)

    def unknown_decl(self, data: str) -> None:
        self.others.append(data)

    def handle_pi(self, data: str) -> None:
        self.others.append(data)


def bodies(text: str) -> list[tuple[str, AnyBody]]:
    """Everything that can happen, with this text wherever a text can be."""
    file = FileRef("ab" * 32, text, 12, "text/plain")
    quote = Quote("r2", text, (QuotedLine(text, text),))
    before = Event(70, BORN, text, MessagePosted("b1", text))
    spent = (Spending(text, text, 1, cost=0.1),)
    return [
        ("", RoomCreated("r1", text)),
        (text, MemberJoined("member", agent=text)),
        (text, MessagePosted("m1", text, handler=text, files=(file,), quotes=(quote,))),
        (text, DecisionMade(3, "delegate", text, query=text, receiver=text, spent=spent)),
        (
            text,
            ApprovalRequested(3, "a1", text, text, {text: [text]}, text, because=text, risk=text),
        ),
        (text, ApprovalResolved(3, "a1", "denied", text, arguments={text: f"{text}!"})),
        (text, AnswerPosted(3, text, receiver=text)),
        (text, MessagePosted("m2", text, handler=text, emote=True)),
        (text, RunFailed(8, "agent", text, text=text)),
        (text, MessagePosted("m3", text, handler=text)),
        (text, RunCancelled(10, text, text=text)),
        (text, MemberModerated("kick", text, reason=text)),
        ("cleo", RecoveredEvent(before)),
        (text, UnreadableEvent(text)),
    ]


def log(saved: SavedSession, entries: list[tuple[str, AnyBody]]) -> None:
    events = [Event(n, BORN + n, by, body) for n, (by, body) in enumerate(entries, 1)]
    saved.log_path.write_bytes(b"".join(map(encode_line, events)))


def room(base: Path, text: str) -> SavedSession:
    saved = saved_room(base, title=text, host=text)
    log(saved, bodies(text))
    return saved


def test_messages_are_shown_as_they_were_left(tmp_path: Path) -> None:
    saved = saved_room(tmp_path)
    entries: list[tuple[str, AnyBody]] = [
        ("", RoomCreated("r1", "Standup")),
        ("ann", MessagePosted("1", "teh plan")),
        ("ann", MessagePosted("2", "the secret")),
        ("ann", MessageEdited(2, "another secret")),
        ("ann", MessageEdited(2, "the plan")),
        ("ann", MessageEdited(3, "a third secret")),
        ("ann", MessageDeleted(3)),
    ]
    log(saved, entries)
    for text in (Page("".join(html(saved))).text, "".join(markdown(saved))):
        assert "secret" not in text
        assert "teh" not in text
        assert "the plan" in text
        assert text.count("edited") == text.count(DELETED) == 1


def page(base: Path, text: str) -> Page:
    return Page("".join(html(room(base, text))))


HOSTILE = st.one_of(
    st.text(min_size=1, max_size=40),
    st.text(alphabet="<>&\"'/=!-?[] \n`;:#ax*_|()~\\", min_size=1, max_size=40),
    st.lists(
        st.sampled_from(
            [
                *("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</style>"),
                *("<!--", "-->", "&lt;", "&#60;", "<![CDATA[", "' onload='x", "javascript:x"),
                *("</title><b>", "</details>", "<?php", "\x00", "\u202e", "<a href=x>", "`"),
                *(
                    "\n```a\n",
                    "\n```\n",
                    "</pre>",
                    "</code>",
                    "\n```<b>\n",
                    "\n| a | b |\n|:-:|--:|\n",
                ),
                *(
                    "[x](javascript:alert(1))",
                    "[x](JaVaScRiPt:x)",
                    "[x](data:text/html,x)",
                    "<x:y>",
                ),
                *(
                    "[x](https://a.b/\"onclick='x)",
                    "[x](//a.b)",
                    "[x](#m2)",
                    "[x](file:///etc/passwd)",
                ),
                *(
                    "![x](http://a.b/c.png)",
                    "![x](data:image/png;base64,AA)",
                    "[x]: http://a.b 'x'",
                ),
                *(
                    "<http://a.b/%E2%80%AE>",
                    'http://a.b/"onmouseover=x',
                    '<mailto:x?"b=c>',
                    "\n# x\n",
                ),
                *(
                    "[x](&#106;avascript:x)",
                    "[x](java\tscript:x)",
                    "[x](<javascript:x>)",
                    "\n> x\n",
                ),
                *(
                    "[a](http://a.b 'title\" onclick=x')",
                    "[![x](y)](http://z)",
                    "\n1. x\n",
                    "**",
                    "~~",
                ),
                *(
                    "\n```html\n<script>\n```\n",
                    "\n```x onclick=y\n",
                    "\n```php\n<?=1\n```\n",
                    "\n---\n",
                ),
            ]
        ),
        min_size=1,
        max_size=4,
    ).map("".join),
)


def is_allowed(tag: str, name: str, value: str) -> bool:
    """Whether Markdown may make this attribute."""
    match tag, name:
        case "a", "href":
            return value.casefold().startswith(("http://", "https://", "mailto:"))
        case "a", "rel":
            return value == "noopener noreferrer"
        case "ol", "start":
            return value.isdecimal()
        case _, "class":
            return value in KINDS
    return False


@settings(max_examples=150)
@given(text=HOSTILE)
def test_text_makes_only_markdown_tags(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    harmless = page(tmp_path_factory.mktemp("plain"), "x")
    hostile = page(tmp_path_factory.mktemp("hostile"), text)
    assert hostile.others == []
    assert set((Counter(hostile.tags) - Counter(harmless.tags)).elements()) <= RICH
    made = set(hostile.attributes) - set(harmless.attributes)
    assert [each for each in made if not is_allowed(each[0], each[1], each[2] or "")] == []


def test_escaped_text_reads_as_written(tmp_path: Path) -> None:
    text = "<b>\"bold\"</b> & 'more' &amp; &#x41; ]]>"
    found = page(tmp_path, text)
    assert found.text.count(text) > 25
    assert "\ufffd" not in found.text


def test_the_page_may_load_and_run_nothing(tmp_path: Path) -> None:
    text = "".join(html(saved_room(tmp_path)))
    style = text.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(sha256(style.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'"
    )
    assert f'<meta http-equiv="Content-Security-Policy" content="{policy}">' in text
    assert text.index("Content-Security-Policy") < text.index("<style>")
    found = Page(text)
    assert not {"script", "iframe", "object", "embed", "link", "base", "form"} & set(found.tags)
    assert not any(name.startswith("on") or name == "style" for _, name, _ in found.attributes)
    assert "prefers-color-scheme: dark" in text
    assert "url(" not in text
    assert "@import" not in text


def test_steps_are_folded_below_message(tmp_path: Path) -> None:
    text = "".join(html(saved_room(tmp_path)))
    message = text[text.index('id="m4"') : text.index("</article>", text.index('id="m4"'))]
    assert message.count("<details>") == 3
    assert "<dt>reason</dt><dd>a question</dd>" in message
    assert "allowed calculate by ann" in message
    assert "(marked as wrong)" in text
    assert "does not know events like &#x27;danced&#x27;" in text


def test_pictures_show_and_files_download(tmp_path: Path) -> None:
    addresses = {
        "a.png": "data:image/png;base64,AAAA",
        "b.bin": "data:application/octet-stream;base64,AA",
    }
    files = tuple(FileRef("ab" * 32, name, 3, "") for name in addresses)
    saved = saved_room(tmp_path)
    said = Event(1, BORN, "ann", MessagePosted("m", "", files=files))
    saved.log_path.write_bytes(encode_line(said))
    found = Page("".join(html(saved, lambda file: addresses[file.name])))
    assert ("img", "src", addresses["a.png"]) in found.attributes
    assert ("a", "href", addresses["b.bin"]) in found.attributes
    assert ("a", "download", "b.bin") in found.attributes
    assert base64.b64decode("AAAA") == b"\0\0\0"


def said(base: Path, *texts: str) -> str:
    """The page of a room in which ann says all this, and is answered with it."""
    saved = saved_room(base)
    events = [Event(1, BORN, "", RoomCreated("r1", "Standup"))]
    for text in texts:
        seq = len(events) + 1
        events += [
            Event(seq, BORN, "ann", MessagePosted(f"m{seq}", text, handler="ann")),
            Event(seq + 1, BORN, "ann", DecisionMade(seq, "delegate", "why", "q", "ann")),
            Event(seq + 2, BORN, "ann", AnswerPosted(seq, text, receiver="ann")),
        ]
    saved.log_path.write_bytes(b"".join(map(encode_line, events)))
    return "".join(html(saved))


def test_markdown_is_rendered(tmp_path: Path) -> None:
    text = said(tmp_path, "## Options\n\n| a | b |\n|--:|---|\n| 1 | *2* |\n\n- https://a.b/c")
    assert text.count("<h5>Options</h5>") == 2
    assert text.count('<th class="right">a</th>') == 2
    assert text.count("<td><em>2</em></td>") == 2
    link = '<a href="https://a.b/c" rel="noopener noreferrer">https://a.b/c</a>'
    assert text.count(f"<li>{link}</li>") == 2
    assert "## " not in text


def test_line_breaks_of_person_are_kept(tmp_path: Path) -> None:
    text = said(tmp_path, "one\ntwo")
    assert text.count("<p>one<br>\ntwo</p>") == 1
    assert text.count("<p>one\ntwo</p>") == 1


def test_code_is_highlighted_unchanged(tmp_path: Path) -> None:
    text = said(tmp_path, "see\n```python\ndef f():  # <b>\n    return 1\n```\nthere")
    assert text.count('<span class="language">python</span>') == 2
    assert text.count('<span class="k">def</span> <span class="f">f</span>') == 2
    assert text.count('<span class="c"># &lt;b&gt;</span>') == 2
    assert "def f():  # <b>\n    return 1" in Page(text).text
    assert "```" not in text


@pytest.mark.parametrize("language", ["nonsense", "__class__", "../x", "c" * 99, "Python"])
@pytest.mark.parametrize("code", ["\n\n x\n\n", "\t", "x\n", "\\", "# " + "x" * HIGHLIGHTED])
def test_highlighting_loses_nothing(tmp_path: Path, language: str, code: str) -> None:
    shown = visible(code)
    assert shown in Page(said(tmp_path, f"```{language}\n{code}\n```")).text


def test_a_link_without_words_shows_its_address(tmp_path: Path) -> None:
    text = said(tmp_path, "[](https://a.b)")
    assert text.count('rel="noopener noreferrer">https://a.b</a>') == 2


def test_too_deep_text_is_shown_as_typed(tmp_path: Path) -> None:
    text = Page(said(tmp_path, ">" * 40 + " not lost", "*" * 60 + "a" + "*" * 60)).text
    assert text.count(">" * 40 + " not lost") == 2
    assert text.count("*" * 60 + "a") == 2


@given(st.text(alphabet="ab -+=#1.)>&!'\"\t?(\u2003", min_size=1, max_size=8))
def test_plain_line_equals_parsed_line(text: str) -> None:
    known = parser(breaks=True)
    page = known.renderer.render(known.parse(text), known.options, {})
    if is_plain(text):
        assert rich_text(text, breaks=True).replace("&#x27;", "'") == page


def test_times_are_given_with_their_zone(tmp_path: Path) -> None:
    text = said(tmp_path, "one")
    moment = local_time(BORN)
    assert (
        f'<time datetime="{moment.isoformat(timespec="seconds")}">{moment:%H:%M:%S}</time>' in text
    )
    assert "<p>Times are in " in text


def test_a_reply_names_and_links_what_it_answers(tmp_path: Path) -> None:
    saved = saved_room(tmp_path)
    entries: list[tuple[str, AnyBody]] = [
        ("", RoomCreated("r1", "Standup")),
        ("ann", MessagePosted("1", "shall we?")),
        ("bob", MessagePosted("2", "yes", reply_to=2)),
    ]
    log(saved, entries)
    assert ' in reply to <a href="#m2">ann</a>' in "".join(html(saved))
    assert "**bob** in reply to ann " in "".join(markdown(saved))


def test_entries_have_anchors_and_links(tmp_path: Path) -> None:
    text = said(tmp_path, "one", "two")
    found = Page(text)
    anchors = {value for _tag, name, value in found.attributes if name == "id"}
    assert {"m1", "m2", "m4", "m5", "m7"} == anchors
    links = [value or "" for tag, name, value in found.attributes if (tag, name) == ("a", "href")]
    assert {link.removeprefix("#") for link in links} <= anchors
    assert ' → <a href="#m2">ann</a>' in text[text.index('id="m4"') : text.index('id="m5"')]


def test_grants_and_requests_stand_out(tmp_path: Path) -> None:
    text = "".join(html(saved_room(tmp_path)))
    assert '<span class="mark good">✓</span>' in text
    assert '<span class="mark asks">▲</span>' in text
    assert '<span class="mark">○</span>' in text
