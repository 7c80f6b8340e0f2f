"""A page with the signatures of its entries, and a button that checks them."""

import base64
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from msgspec.structs import replace
from tests.genie_core.room.bench import identity
from tests.genie_core.room.founded import FoundedLog, founded
from tests.genie_core.sessions.export.test_html import Page
from tests.genie_core.sessions.sample import BORN, saved_room
from tests.genie_core.sessions.test_verify import saved
from tests.limits import scaled

from genie_core.room.protocol.events import (
    AnswerPosted,
    DecisionMade,
    Event,
    MemberJoined,
    MessageDeleted,
    MessageEdited,
    MessagePosted,
)
from genie_core.room.security.identity import words
from genie_core.room.state.proofs import REPEATED
from genie_core.sessions.export.choices import Choices
from genie_core.sessions.export.html import html
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.session import SavedSession

HOSTILE = "</script><script>alert(1)</script><!-- \u2028 ]]> & \\u003c"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def talk() -> FoundedLog:
    log = founded("bob")
    log.says("bob", HOSTILE)
    asked = log.says("ann", "shall we?").seq
    log.add("ann", DecisionMade(asked, "delegate", "a question", "shall we?", "ann"))
    log.add("ann", AnswerPosted(asked, "**yes**", "ann", 1.0))
    log.add("bob", MessageEdited(log.says("bob", "a frist draft").seq, "the last draft"))
    log.add("bob", MessageDeleted(log.says("bob", "swordfish").seq))
    forged = log.next("bob", MessagePosted("m9", "I owe 100", "bob"))
    log.take(replace(forged, body=replace(forged.body, text="I owe 900")))
    return log


@pytest.fixture
def room(tmp_path: Path) -> SavedSession:
    return saved(tmp_path / "sessions", talk().events)


def proofs(page: str) -> list[dict[str, str]]:
    return [
        json.loads(data)
        for data in re.findall(r'<script type="application/json">(.*?)</script>', page)
    ]


def test_reader_can_check_each_entry(room: SavedSession) -> None:
    page = "".join(html(room))
    found = proofs(page)
    assert [each["by"] for each in found].count("bob") == 4
    for each in found:
        key = Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(each["key"] + "="))
        key.verify(base64.b64decode(each["signature"]), each["signed"].encode())
    contents = [json.loads(each["signed"].partition("\0")[2])[3] for each in found]
    texts = [content.get("text") for content in contents]
    assert HOSTILE in texts
    assert "the last draft" in texts
    for hidden in ("a frist draft", "swordfish", "I owe 100", "I owe 900"):
        assert hidden not in texts


def test_page_runs_only_own_script(room: SavedSession) -> None:
    page = "".join(html(room))
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'; " in page
    assert "innerHTML" not in script
    found = Page(page)
    assert ("script", "type", "application/json") in found.attributes
    assert found.tags.count("script") == len(proofs(page)) + 1


def test_keys_are_shown_in_words(room: SavedSession) -> None:
    with room.reader() as log:
        keys = log.state().keys
    page = "".join(html(room))
    for name, key in keys.items():
        assert f"<dt>{name}</dt><dd>{words(key)}</dd>" in page


@pytest.mark.parametrize(
    "choices",
    [Choices(pseudonyms=True), Choices(arguments=False), Choices(redactions=(re.compile("yes"),))],
)
def test_redacted_page_has_no_signatures(room: SavedSession, choices: Choices) -> None:
    page = "".join(html(room, choices=choices))
    assert "<script" not in page
    assert "script-src" not in page
    assert "This page has no signatures to check" in page
    with room.reader() as log:
        assert not any(key in page or words(key) in page for key in log.state().keys.values())


def test_unfounded_room_has_no_button(tmp_path: Path) -> None:
    unfounded = saved_room(tmp_path)
    joined = Event(1, BORN, "ann", MemberJoined("host", key=identity("ann").key))
    said = Event(2, BORN, "ann", MessagePosted("m", "hello", signature=b"s" * 64))
    unfounded.log_path.write_bytes(encode_line(joined) + encode_line(said))
    page = "".join(html(unfounded))
    assert "hello" in page
    assert "verify" not in page
    assert "<script" not in page


def test_excerpt_keeps_its_signatures(room: SavedSession) -> None:
    page = "".join(html(room, choices=Choices(messages_only=True)))
    assert len(proofs(page)) == 5


@pytest.fixture
def browse(tmp_path: Path) -> Callable[[str], str]:
    """Opens a page in a browser, has it check its signatures, and returns the page as it is then."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")

    def shown(page: str) -> str:
        path = tmp_path / "page.html"
        path.write_text(page)
        options = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={tmp_path}/p",
        ]
        run = [CHROMIUM, *options, "--virtual-time-budget=20000", "--dump-dom"]
        done = subprocess.run(
            [*run, f"{path.as_uri()}#verify"],
            capture_output=True,
            text=True,
            check=True,
            timeout=scaled(120),
        )
        return done.stdout

    return shown


def test_a_browser_marks_what_is_signed(room: SavedSession, browse: Callable[[str], str]) -> None:
    shown = browse("".join(html(room)))
    assert "9 entries are signed, 1 not proven" in shown
    assert shown.count("✓ signed by bob") == 4
    assert shown.count("✓ signed by ann") == 5
    assert '<span class="proof bad">⚠ not proven</span>' in shown
    assert "<pre>the last draft</pre>" in shown.replace(' class=""', "")


def test_a_browser_notices_a_changed_proof(
    room: SavedSession, browse: Callable[[str], str]
) -> None:
    page = "".join(html(room))
    assert page.count("shall we?") > 2
    changed = page.replace('\\"text\\":\\"shall we?\\"', '\\"text\\":\\"shall I?\\"')
    assert changed != page
    shown = browse(changed)
    assert "8 entries are signed, 2 not proven" in shown


def test_repeated_entry_has_no_signature(tmp_path: Path) -> None:
    log = talk()
    before = len(proofs("".join(html(saved(tmp_path / "one", log.events)))))
    log.take(replace(log.events[4], seq=log.state.head + 1, parent=log.state.link))
    page = "".join(html(saved(tmp_path / "two", log.events)))
    assert len(proofs(page)) == before
    assert REPEATED in page


def test_a_browser_marks_a_repeated_entry(room: SavedSession, browse: Callable[[str], str]) -> None:
    page = "".join(html(room))
    (first, *_) = re.findall(r"<article.*?</article>", page, re.DOTALL)
    shown = browse(page.replace(first, first + first, 1))
    assert "9 entries are signed, 2 not proven" in shown


def test_a_browser_runs_no_script_of_anyone_else(
    room: SavedSession, browse: Callable[[str], str]
) -> None:
    page = "".join(html(room))
    attack = (
        "<script>document.title = 'owned'</script><img src=x onerror=\"document.title='owned'\">"
    )
    shown = browse(page.replace("</header>", f"</header>{attack}"))
    assert "<title>owned</title>" not in shown
    assert "entries are signed" in shown
