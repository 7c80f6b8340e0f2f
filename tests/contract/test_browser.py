"""A room in a browser: guests by a link, beside members at terminals."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.contract.browser import PROGRAM, Browser, Tab
from tests.contract.terminal import DEADLINE, Terminal, printed_invite

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(PROGRAM is None, reason="chromium is not installed"),
]

HOSTILE: Final = "<img src=x onerror=hacked=1>"
IS_CLEAN: Final = "window.hacked === undefined && !document.querySelector('img, iframe, object, script:not([src])')"

CONTRAST: Final = """
(() => {
  const parts = (text) => text.match(/[0-9.]+/g).map(Number);
  const linear = (value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) =>
    0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const ground = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const color = parts(getComputedStyle(each).backgroundColor);
      if (color.length < 4 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const weak = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((each) => each.nodeType === 3 && each.data.trim());
    if (!own || !element.checkVisibility() || element.tagName === "NOSCRIPT") continue;
    const [a, b] = [light(parts(getComputedStyle(element).color)), light(ground(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) weak.push(`${element.className || element.tagName}: ${ratio.toFixed(2)}`);
  }
  return weak;
})()
"""


class Page:
    """`genie-tui web`, and the link that it printed."""

    def __init__(self, home: Path, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "genie_tui", "web", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "GENIE_HOME": str(home)},
        )
        assert self.process.stdout is not None
        lines = list(iter(self._line, ""))
        self.link = next((line for line in lines if line.startswith("http")), "")
        assert self.link, (lines, self.process.wait(DEADLINE))

    def _line(self) -> str:
        """Return the next line, empty once the last one has come."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        return "" if line.startswith("Ctrl+C") else line.strip() or "-" if line else ""

    def stop(self) -> int:
        self.process.send_signal(signal.SIGINT)
        with self.process as process:
            return process.wait(DEADLINE)


@pytest.fixture
def ann(tmp_path: Path, port: int) -> Iterator[Terminal]:
    host = ["host", "--title", HOSTILE, "--name", "ann", "--port", str(port), "--no-announce"]
    with Terminal(*host, home=tmp_path / "ann") as terminal:
        terminal.wait_for("online")
        yield terminal


@pytest.fixture
def page(ann: Terminal, tmp_path: Path, port: int) -> Iterator[Page]:
    served = Page(tmp_path / "ann", f":{port}", "--for", "2h")
    try:
        yield served
    finally:
        if served.process.poll() is None:
            served.stop()


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    with Browser(tmp_path / "chromium") as started:
        yield started


def joined(browser: Browser, page: Page, name: str, **options: object) -> Tab:
    tab = browser.open(page.link, browser.visitor(), **options)  # type: ignore[arg-type]
    tab.join(name)
    tab.wait_for(f"{name} joined as a guest")
    return tab


def test_browsers_and_terminal_share_room(ann: Terminal, page: Page, browser: Browser) -> None:
    bob, cleo = joined(browser, page, "bob"), joined(browser, page, "cleo", width=360, height=740)
    ann.wait_for("bob", "cleo")
    ann.say("hello from the terminal")
    for tab in (bob, cleo):
        tab.wait_for("hello from the terminal", "genie stayed silent")
    bob.say("hello from bob's browser")
    ann.wait_for("hello from bob's browser")
    cleo.wait_for("hello from bob's browser")
    cleo.say("@genie hello from cleo's browser")
    ann.wait_for("hello from cleo's browser")
    bob.wait_for("hello from cleo's browser", "genie to cleo")
    bob.value("document.querySelector('.entry-message .reply').click()")
    bob.say("that is an answer to you")
    cleo.wait_until(
        "[...document.querySelectorAll('blockquote')].some(e => /^ann: hello/.test(e.innerText))"
    )
    ann.wait_for("by the agent of ann", "that is an answer to you")

    assert page.link.partition("#")[2] not in bob.value("location.href")
    bob.click("#leave")
    bob.wait_for("You have left the room")
    cleo.wait_for("bob left")
    assert page.stop() == 0
    ann.wait_for("bob and cleo left")
    assert bob.problems == []


def test_hostile_messages_run_no_script(ann: Terminal, page: Page, browser: Browser) -> None:
    eve, bob = joined(browser, page, "<img/src=x/onerror=hacked=1>"), joined(browser, page, "bob")
    ann.say("<script>hacked = 1</script> [a](javascript:hacked=1) javascript:hacked=1")
    eve.say(
        f'{HOSTILE} **{HOSTILE}** `{HOSTILE}` https://example.org/"onclick=hacked=1 \u202egnp.exe'
    )
    eve.say(f"```\n{HOSTILE}\n```\n- {HOSTILE}\n# {HOSTILE}")
    for tab in (eve, bob):
        tab.wait_for("<script>hacked = 1</script>", "⟨U+202E⟩gnp.exe", f"{HOSTILE}\n")
        assert tab.value("document.title") == HOSTILE
        assert tab.value("[...document.links].map(each => each.href)") == ["https://example.org/"]
        assert tab.value("[...document.links].every(each => each.rel === 'noopener noreferrer')")
        assert tab.value(IS_CLEAN), tab.value("document.body.innerHTML")
        assert tab.problems == []


def test_visitor_types_commands(ann: Terminal, page: Page, browser: Browser) -> None:
    bob = joined(browser, page, "bob")
    ann.say("hello from the terminal")
    bob.wait_for("hello from the terminal", "genie stayed silent")
    bob.say("/who")
    bob.wait_for("ann (host)", "bob (guest)")
    number = bob.value("document.querySelector('.entry-message .number').innerText")[1:-1]
    bob.say(f"/react {number} 👍")
    bob.wait_for("👍", gone="bob (guest)\n")
    bob.say("/tools")
    bob.wait_for("Not done: /tools needs the program genie-tui in a terminal")
    assert bob.value("document.getElementById('text').value") == "/tools"
    assert bob.problems == []


def test_page_policy_blocks_other_scripts(page: Page, browser: Browser) -> None:
    bob = joined(browser, page, "bob")
    bob.value(f"""(() => {{ const bad = {HOSTILE!r}; apply({{
      feed: room.feed, head: room.since, title: bad, notices: [bad], typing: [bad],
      members: [{{ name: bad, role: bad, engine: bad, busy: bad }}],
      entries: [
        {{ type: "message", seq: 900, at: 0, by: bad, text: bad, private: bad, note: bad, quotes: [bad],
           reply: {{ by: bad, text: bad }}, files: [{{ name: bad, about: bad }}],
           reactions: [{{ text: bad, by: [bad] }}],
           work: {{ state: "failed", line: bad, calls: [bad], detail: bad }} }},
        {{ type: "answer", seq: 901, at: 0, message: 900, to: bad, text: bad, note: bad }},
        {{ type: "notice", seq: 902, at: 0, mark: bad, text: bad }},
      ],
      streams: [{{ message: 900, text: bad }}],
    }});
    room.pending.set("bad", {{ frame: {{ text: "/who" }}, element: node("p") }});
    settle("bad", bad, bad); }})()""")
    assert bob.text.count(HOSTILE) > 15
    assert bob.value(IS_CLEAN)
    assert bob.problems == []

    for forbidden in (
        "document.createElement('script').src = 'data:,hacked=1'",
        "document.body.innerHTML = '<b>'",
        "document.body.setAttribute('onclick', 'hacked = 1'); document.body.click()",
    ):
        bob.value(f"(() => {{ try {{ {forbidden} }} catch {{ return; }} }})()")
    assert bob.value("fetch('http://127.0.0.2/').then(() => 'sent', () => 'blocked')") == "blocked"
    assert bob.value(IS_CLEAN)
    assert bob.value("document.getElementById('log') !== null")


def test_loading_history_is_not_read_aloud(page: Page, browser: Browser) -> None:
    bob = joined(browser, page, "bob")
    bob.wait_until("document.getElementById('log').getAttribute('aria-live') === 'polite'")
    seen = bob.value("""(async () => {
      const part = (first, more) => apply({ feed: room.feed, head: room.since, ...more,
        entries: Array.from({ length: 9 }, (_, i) => ({ type: "notice", seq: first + i, at: 0, mark: "", text: "x" })) });
      part(1000, { reset: true });
      for (let each = 1; each < 8; each++) {
        await new Promise((done) => setTimeout(done, 300));
        part(1000 + 10 * each, {});
      }
      return document.getElementById("log").getAttribute("aria-live"); })()""")
    assert seen == "off"
    bob.wait_until("document.getElementById('log').getAttribute('aria-live') === 'polite'")


def test_the_latest_message_stays_in_sight(page: Page, browser: Browser) -> None:
    bob = joined(browser, page, "bob")
    bob.value("""apply({ feed: room.feed, head: room.since, entries: Array.from({ length: 50 }, (_, i) =>
      ({ type: "message", seq: 1000 + i, at: 0, by: "ann", text: "word ".repeat(50) })) })""")
    end = "(box => box.scrollHeight - box.scrollTop - box.clientHeight < 2)(document.getElementById('scroller'))"
    bob.wait_until(end)
    bob.resize(360, 740)
    bob.wait_until(f"innerWidth === 360 && {end}")
    bob.value("[...document.querySelectorAll('.reply')].at(-1).click()")
    bob.wait_until(f"!document.getElementById('replying').hidden && {end}")
    bob.value("document.getElementById('scroller').scrollTop = 0")
    bob.wait_until("!isPinned")
    bob.resize(1100, 760)
    bob.wait_until("innerWidth === 1100")
    assert not bob.value(end)


def test_no_text_keeps_the_page_busy(page: Page, browser: Browser) -> None:
    bob = browser.open(page.link, browser.visitor())
    bob.wait_for("Your name")
    for part in ("```x\\n", "```\\n", "`", "**a", "- a\\n", "1. a\\n", "a\\n\\n", "# \\n"):
        text = f"'{part}'.repeat(64000 / '{part}'.length)"
        spent = f"(() => {{ const begin = performance.now(); textNodes({text}); return performance.now() - begin; }})()"
        assert bob.value(spent) < 3_000, part
    dots = "textNodes('https://a' + '.'.repeat(16000) + 'x')"
    spent = f"(() => {{ const b = performance.now(); {dots}; return performance.now() - b; }})()"
    assert bob.value(spent) < 3_000
    nested = "textNodes('```\\n```x\\n1\\n```\\n```py\\n2').outerHTML"
    assert bob.value(nested).count("<pre") == 1


def test_visitors_are_isolated(
    ann: Terminal, page: Page, browser: Browser, tmp_path: Path, port: int
) -> None:
    bob = joined(browser, page, "bob")
    same, other = browser.visitor(), Page(tmp_path / "ann", f":{port}", "--observers")
    try:
        cleo = browser.open(page.link, same)
        cleo.join("cleo")
        cleo.wait_for("cleo joined")
        again = browser.open(page.link, same)  # a second tab is the same visitor
        again.wait_for("cleo", "you", gone="Join the room")
        reader = browser.open(other.link, same)  # and another link another one
        reader.join("dora")
        reader.wait_for("You read along here")
        assert not reader.value("document.getElementById('composer').checkVisibility()")
        reader.value("document.getElementById('text').value = 'forced'; say()")
        refusal = "document.getElementById('said-error').textContent"
        reader.wait_until(f"{refusal} === 'Not sent: this link is for reading only'")
        ann.say("what was forced?")
        reader.wait_for("what was forced?", gone="dora: forced")
    finally:
        other.stop()
    cleo.wait_for("dora left")
    assert bob.value("document.cookie") == ""
    link = page.link.partition("#")[2].partition(".")[0]
    stranger = browser.open(page.link.partition("#")[0], browser.visitor())
    asked = f"fetch('/v/{link}/visit').then(answer => answer.json())"
    stranger.wait_for("Open your link")
    assert stranger.value(asked) == {"here": False}
    assert bob.value(asked) == {"here": True}
    refused = f"""new Promise(done => {{
      const socket = new WebSocket(`ws://${{location.host}}/v/{link}/socket`);
      socket.onopen = () => done("open"); socket.onclose = () => done("closed"); }})"""
    assert stranger.value(refused) == "closed"


def test_wrong_link_and_name_are_refused(page: Page, browser: Browser) -> None:
    wrong = browser.open(f"{page.link[:-4]}AAAA", browser.visitor())
    wrong.join("bob")
    wrong.wait_for("This link is not valid")
    taken = browser.open(page.link, browser.visitor())
    taken.join("ann")
    taken.wait_for("ann is the host's name in this room")
    taken.value("document.getElementById('name').value = ''")
    taken.join("anna-b")
    taken.wait_for("anna-b joined as a guest")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_phone_page_works_by_keyboard(
    ann: Terminal, page: Page, browser: Browser, scheme: str
) -> None:
    bob = joined(browser, page, "bob", width=360, height=740, scheme=scheme)
    ann.say(f"{'word' * 60} `{'code' * 60}` https://example.org/{'path' * 40}")
    bob.wait_for("wordword", "genie stayed silent")
    bob.say("```\n" + "x" * 300 + "\n```")
    bob.wait_for("xxxx", gone="sending")
    wide = "document.documentElement.scrollWidth > 360 || document.getElementById('scroller').scrollWidth > document.getElementById('scroller').clientWidth"
    bob.value("document.querySelector('.reply').click()")  # its start is one long word
    assert not bob.value(wide)
    bob.press("Escape")
    assert bob.value(CONTRAST) == []

    nodes = bob.call("Accessibility.getFullAXTree")["nodes"]
    shown = [each for each in nodes if not each["ignored"]]
    roles = {each["role"]["value"]: each.get("name", {}).get("value", "") for each in shown}
    assert {"main", "banner", "log", "status", "region", "heading"} <= roles.keys()
    assert roles["log"] == "Messages"
    assert roles["textbox"].startswith("Message, or a command such as /help; Enter sends")
    nameless = [
        each["role"]["value"]
        for each in shown
        if each["role"]["value"] in ("button", "textbox", "link")
        and not each.get("name", {}).get("value")
    ]
    assert nameless == []
    bob.wait_until("document.getElementById('log').getAttribute('aria-live') === 'polite'")

    bob.value("document.getElementById('text').focus()")
    bob.type("one")
    bob.press("Enter", shift=True)
    bob.type("two")
    bob.press("Enter")
    ann.wait_for("one", "two")
    reached = set()
    bob.value("document.activeElement.blur()")
    for _ in range(20):
        bob.press("Tab")
        reached.add(bob.value("document.activeElement.id || document.activeElement.className"))
        outline = "getComputedStyle(document.activeElement).outlineStyle"
        assert (
            bob.value("document.activeElement === document.body") or bob.value(outline) == "solid"
        )
    assert {"show-members", "leave", "scroller", "text", "send", "reply"} <= reached


def test_page_catches_up_after_reconnect(ann: Terminal, page: Page, browser: Browser) -> None:
    bob = joined(browser, page, "bob")
    bob.value("socket.close()")
    ann.say("while bob was away")
    bob.value("document.getElementById('text').value = 'typed meanwhile'; say()")
    bob.wait_for("while bob was away", "typed meanwhile", gone="sending")
    ann.wait_for("typed meanwhile")
    bob.say("and back")
    ann.wait_for("and back")
    texts = "[...document.querySelectorAll('.entry-message .text')].map(each => each.innerText)"
    shown = bob.value(texts)
    assert sorted(shown[:2]) == ["typed meanwhile", "while bob was away"]  # in either order
    assert shown[2:] == ["and back"]
    bob.call("Page.reload")
    bob.wait_for("while bob was away", "and back")


@pytest.mark.usefixtures("own_hosts")
def test_room_is_found_by_invite_or_name(browser: Browser, tmp_path: Path, port: int) -> None:
    home = tmp_path / "ann"
    host = ["host", "--title", "Standup", "--name", "ann", "--port", str(port), "--no-announce"]
    with Terminal(*host, home=home) as ann:
        ann.wait_for("Standup", "online")
        invite = printed_invite(home)
        (folder,) = (home / "data" / "sessions").iterdir()
        for way, name in ((invite, "bob"), (folder.name, "cleo")):
            served = Page(home, way)
            try:
                tab = joined(browser, served, name)
                tab.say(f"{name} is here")
                ann.wait_for(f"{name} is here")
            finally:
                assert served.stop() == 0
