"""Exports of ordinary but unexpected shape, whose words all arrive."""

import re
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from genie_core.sessions.errors import NotImportable
from import_tests.exports import (
    asked,
    chat,
    imported,
    lines,
    read,
    reasons,
    texts,
    written,
)

ANSWER = asked("Simmer it.", "assistant")


@pytest.fixture(autouse=True)
def _berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


# ChatGPT


@pytest.mark.parametrize(
    "fields",
    [
        *({"metadata": None}, {"author": None}, {"create_time": "2025-06-15T15:06:40Z"}),
        *({"id": None}, {"recipient": None}, {"metadata": []}, {"create_time": {}}, {"id": 7}),
        *({"content": {"parts": "thick"}}, {"content": "thick"}, {"content": {"text": "thick"}}),
        *({"content": {"content_type": "new", "result": "thick"}}, {"author": {"role": 5}}),
        {"content": {"content_type": "multimodal_text", "parts": [{"text": "thick"}, None, 3]}},
    ],
)
def test_chatgpt_field_of_another_type(tmp_path: Path, fields: dict[str, Any]) -> None:
    file = written(tmp_path / "c.json", [chat({**asked("thick"), **fields}, ANSWER)])
    assert texts(file) == ["thick", "Simmer it."]


@pytest.mark.parametrize("content", [None, {}, {"parts": None}, {"parts": []}, 5])
def test_chatgpt_message_without_content(tmp_path: Path, content: Any) -> None:
    message = {**asked(""), "content": content}
    file = written(tmp_path / "c.json", [chat(asked("Hi"), message, ANSWER)])
    assert texts(file) == ["Hi", "Simmer it."]


def test_chatgpt_parents_from_children(tmp_path: Path) -> None:
    found = chat(asked("one"), asked("two"))
    found["mapping"] = {
        key: {"message": node["message"], "children": ["1"] if key == "0" else None}
        for key, node in found["mapping"].items()
    }
    assert texts(written(tmp_path / "c.json", [found])) == ["one", "two"]


def test_chatgpt_without_links_goes_by_time(tmp_path: Path) -> None:
    found = chat(asked("late", create_time=20), asked("early", create_time=10))
    for node in found["mapping"].values():
        del node["parent"]
    assert texts(written(tmp_path / "c.json", [found])) == ["early", "late"]


@pytest.mark.parametrize("current", [None, "gone", 7])
def test_chatgpt_without_place_takes_latest(tmp_path: Path, current: Any) -> None:
    found = chat(asked("start", create_time=1), asked("new", create_time=9), current_node=current)
    found["mapping"]["old"] = {"parent": "0", "message": asked("old", create_time=5)}
    file = written(tmp_path / "c.json", [found])
    assert texts(file) == ["start", "new"]
    assert [(each.reason, each.text) for each in read(file)[1]] == [
        ("message of another branch", "old")
    ]


def test_chatgpt_words_left_out_are_named(tmp_path: Path) -> None:
    thought = {"content_type": "thoughts", "thoughts": [{"summary": "Sum", "content": "Hm"}]}
    call = {**asked(""), "content": {"content_type": "code", "text": "print(1)"}}
    picture = {"content_type": "image_asset_pointer", "metadata": {"dalle": {"prompt": "a pear"}}}
    messages = (
        asked("be kind", "system"),
        {**asked("", "assistant"), "content": thought},
        {**call, "author": {"role": "assistant"}, "recipient": "python"},
        asked(picture),
    )
    messages_, left = read(written(tmp_path / "c.json", [chat(*messages)]))
    assert [each.files for each in messages_] == [("image",)]
    assert [each.text for each in left] == ["be kind", "Sum\nHm", "print(1)", "a pear"]


@pytest.mark.parametrize("wrap", [lambda c: c, lambda c: [1, None, c], lambda c: {"chats": [c]}])
def test_chatgpt_found_by_any_item(tmp_path: Path, wrap: Any) -> None:
    file = written(tmp_path / "mine.json", wrap(chat(asked("Hi"))))
    assert texts(file) == ["Hi"]


def test_chatgpt_numbered_files_at_any_depth(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        for number in (0, 2, 10):
            path = written(tmp_path / "c.json", [chat(asked(f"in {number}"), id=str(number))])
            archive.write(path, f"export/data/conversations-{number}.json")
        archive.writestr("export/chat.html", "<html>")
    assert texts(tmp_path / "export.zip") == ["in 0", "in 2", "in 10"]
    assert reasons(tmp_path / "export.zip") == {"file that is no conversation": 1}


def test_json_with_byte_order_mark(tmp_path: Path) -> None:
    plain = written(tmp_path / "c.json", [chat(asked("Hi"))]).read_bytes()
    assert texts(written(tmp_path / "bom.json", b"\xef\xbb\xbf" + plain)) == ["Hi"]


def test_json_cut_off_names_file(tmp_path: Path) -> None:
    file = written(tmp_path / "conversations.json", b'[{"mapping": {}}, {"map')
    with pytest.raises(NotImportable, match=r"conversations\.json: .*export it again"):
        read(file)


# Claude


def claude(*messages: Any, **fields: Any) -> list[Any]:
    return [{"uuid": "k", "name": "Rota", "chat_messages": list(messages), **fields}]


@pytest.mark.parametrize(
    "fields",
    [
        *({"content": None}, {"attachments": None, "files": None}, {"created_at": None}),
        *({"uuid": None}, {"created_at": "soon"}, {"files": [{"file_name": None}]}),
        *({"content": "Who?", "text": None}, {"content": [{"text": "Who?"}]}, {"sender": None}),
        {"content": [{"type": "voice_note", "text": "Who?"}], "text": None},
        {"attachments": [{"file_name": "", "extracted_content": "Who?"}], "text": ""},
    ],
)
def test_claude_field_of_another_type(tmp_path: Path, fields: dict[str, Any]) -> None:
    file = written(tmp_path / "c.json", claude({"sender": "human", "text": "Who?", **fields}))
    assert texts(file) == ["Who?"]


def test_claude_text_of_attached_file(tmp_path: Path) -> None:
    attached = [{"file_name": "rota.txt", "file_type": "txt", "extracted_content": "Bob: Tuesday"}]
    message = {"sender": "human", "text": "Who?", "attachments": attached}
    messages, left = read(written(tmp_path / "c.json", claude(message)))
    assert [(each.text, each.files) for each in messages] == [
        ("Who?\n\nBob: Tuesday", ("rota.txt",))
    ]
    assert left == []


def test_claude_words_left_out_are_named(tmp_path: Path) -> None:
    blocks = [
        {"type": "thinking", "thinking": "Hm"},
        {"type": "tool_use", "name": "search", "input": {"query": "plums"}},
        {"type": "text", "text": "Yes"},
        {"type": "text", "text": "Yes"},
    ]
    stand_in = "```\nThis block is not supported on your current device yet.\n```"
    message = {"sender": "assistant", "content": blocks, "text": f"Yes\n\n{stand_in}\n\nBut later"}
    file = written(tmp_path / "c.json", claude(message, "odd", summary="All about plums"))
    messages, left = read(file)
    assert [each.text for each in messages] == ["Yes\n\nYes\n\nBut later"]
    assert [each.text for each in left] == ["All about plums", "Hm", "search\nplums", "odd"]


def test_claude_other_files_are_named(tmp_path: Path) -> None:
    written(tmp_path / "e/conversations.json", claude({"sender": "human", "text": "Hi"}))
    written(tmp_path / "e/projects.json", [{"uuid": "p", "name": "Garden"}])
    assert [each.text for each in read(tmp_path / "e")[1]] == ["projects.json"]


# Slack


def slack(folder: Path, *messages: Any, channel: str = "garden", **files: Any) -> Path:
    users = [{"id": "U1", "name": "ann", "profile": None}, {"id": "U2", "name": "bob"}]
    written(folder / "users.json", users)
    written(folder / "channels.json", [{"id": "C1", "name": channel}])
    written(folder / channel / "2026-07-26.json", list(messages))
    for name, content in files.items():
        written(folder / f"{name}.json", content)
    return folder


@pytest.mark.parametrize(
    "fields",
    [
        *({"user": None}, {"ts": 1753500000.5}, {"ts": None}, {"files": None}, {"thread_ts": None}),
        *({"subtype": None}, {"username": 5, "user": None, "bot_id": "B"}, {"bot_id": None}),
        *({"text": None, "blocks": [{"type": "section", "text": {"text": "hi"}}]},),
        *({"text": "", "attachments": [{"text": "hi", "fallback": "hi"}]}, {"user": 7}),
        *({"subtype": "huddle_thread"}, {"subtype": "reminder_add"}, {"subtype": "brand_new"}),
        *({"type": None}, {"user_profile": []}, {"text": ["hi"]}, {"blocks": "x" * 0}),
    ],
)
def test_slack_field_of_another_type(tmp_path: Path, fields: dict[str, Any]) -> None:
    message = {"type": "message", "user": "U1", "ts": "1753500000.1", "text": "hi", **fields}
    assert texts(slack(tmp_path / "s", message)) == ["hi"]


def test_slack_words_beside_text(tmp_path: Path) -> None:
    section = [
        {"type": "text", "text": "Plums for "},
        {"type": "user", "user_id": "U2"},
        {"type": "emoji", "name": "plum"},
        {"type": "link", "url": "https://plum.example", "text": "how"},
    ]
    rich = {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": section}]}
    attached = {"title": "Freezer", "fields": [{"title": "Now", "value": "-9"}], "footer": "cellar"}
    snippet = {"name": "a.txt", "plain_text": "snip", "initial_comment": {"comment": "look"}}
    messages = (
        {"ts": "1", "user": "U1", "text": "", "blocks": [rich]},
        {"ts": "2", "bot_id": "B", "username": "Alarm", "attachments": [attached]},
        {"ts": "3", "user": "U2", "text": "with", "files": [snippet]},
        {"ts": "4", "user": "U1", "text": "Plums for <@U2>", "blocks": [rich]},
    )
    assert texts(slack(tmp_path / "s", *messages)) == [
        "Plums for @bob:plum:how",
        "Freezer\n\nNow\n\n-9\n\ncellar",
        "with\n\nlook\n\nsnip",
        "Plums for @bob:plum:how",
    ]


def test_slack_notices_are_named(tmp_path: Path) -> None:
    messages = (
        {"ts": "1", "user": "U1", "text": "joined", "subtype": "channel_join"},
        {"ts": "2", "user": "U1", "text": "deleted", "subtype": "tombstone"},
        {
            "subtype": "message_changed",
            "message": {"text": "new"},
            "previous_message": {"text": "o"},
        },
        "damaged",
    )
    folder = slack(tmp_path / "s", *messages, canvases=[{"id": "F1", "title": "Plan"}])
    found = {each.text: each.reason for each in read(folder)[1]}
    assert found == {
        "joined": "notice, such as who joined",
        "deleted": "notice, such as who joined",
        "new\no": "earlier version of a message",
        '"damaged"': "entry that can't be understood",
        "Plan": "entry of canvases.json",
    }


class Unflagged(zipfile.ZipInfo):
    """A name in UTF-8 without the flag that says so."""

    def _encodeFilenameFlags(self) -> tuple[bytes, int]:  # noqa: N802 - the library's name
        return self.filename.encode(), self.flag_bits & ~0x800


@pytest.mark.parametrize("top", ["", "export/", "a/b/"])
def test_slack_archive_without_utf8_flag(tmp_path: Path, top: str) -> None:
    folder = slack(tmp_path / "s", {"ts": "1", "user": "U1", "text": "hi"}, channel="küche")
    with zipfile.ZipFile(tmp_path / "s.zip", "w") as archive:
        for file in sorted(folder.rglob("*.json")):
            name = Unflagged(f"{top}{file.relative_to(folder)}", (2026, 7, 26, 0, 0, 0))
            archive.writestr(name, file.read_bytes())
    (room,) = imported(tmp_path / "base", tmp_path / "s.zip").rooms
    assert room.saved.metadata.title == "#küche"
    assert lines(room.saved) == ["ann: hi"]


def test_slack_channel_alone(tmp_path: Path) -> None:
    day = written(tmp_path / "garden/2026-07-26.json", [{"ts": "1", "user": "U1", "text": "hi"}])
    for path in (day, day.parent):
        (room,) = imported(tmp_path / path.name, path).rooms
        assert lines(room.saved) == ["U1: hi"]


# Discord


def discord(*messages: Any, **fields: Any) -> dict[str, Any]:
    return {"guild": {"name": "Plot"}, "channel": {"id": "2"}, "messages": list(messages), **fields}


@pytest.mark.parametrize(
    "fields",
    [
        *({"author": None}, {"timestamp": None}, {"type": "20"}, {"type": "21"}, {"type": 23}),
        *({"type": None}, {"attachments": None}, {"reference": None}, {"id": 5}, {"type": "New"}),
        *({"embeds": [{"description": "hi"}], "content": ""}, {"stickers": None}, {"embeds": 5}),
        {"content": "", "poll": {"question": {"text": "hi"}}},
    ],
)
def test_discord_field_of_another_type(tmp_path: Path, fields: dict[str, Any]) -> None:
    message = {"id": "1", "type": "Default", "author": {"id": "9"}, "content": "hi", **fields}
    file = written(tmp_path / "d.json", discord(message))
    assert [each.strip() for each in texts(file)] == ["hi"]


def test_discord_words_beside_content(tmp_path: Path) -> None:
    embed = {
        "author": {"name": "met"},
        "title": "Frost",
        "fields": [{"name": "low", "value": "-2"}],
    }
    forwarded = {"content": "swap\nseeds", "attachments": [{"fileName": "a.png"}]}
    messages = (
        {"embeds": [embed]},
        {"forwardedMessage": forwarded},
        {"stickers": [{"name": "thumbs"}]},
        {"type": "GuildMemberJoin", "content": "Joined."},
    )
    found, left = read(written(tmp_path / "d.json", discord(*messages)))
    assert [each.text for each in found] == [
        "met\n\nFrost\n\nlow\n\n-2",
        "forwarded:\n> swap\n> seeds",
        "[sticker: thumbs]",
    ]
    assert found[1].files == ("a.png",)
    assert [each.text for each in left] == ["Joined."]


def test_discord_parts_make_one_room(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    for number, name in enumerate(("Plot", "Plot [part 2]", "Plot [part 10]")):
        message = {"id": str(number), "author": {"name": "bob"}, "content": f"part {number}"}
        written(folder / f"{name}.json", discord(message))
    (room,) = imported(tmp_path / "base", folder).rooms
    assert lines(room.saved) == ["bob: part 0", "bob: part 1", "bob: part 2"]


# IRC

LOGS = {
    "irssi": "--- Log opened Mon Sep 30 00:00:44 2024\n16:59 <@ann> hi\n",
    "irssi without a space": "--- Log opened Mon Sep 30 00:00:44 2024\n16:59:00< ann> hi\n",
    "irssi in German": "--- Log opened Mo Sep 30 00:00:44 2024\n16:59 < ann> hi\n",
    "irssi in French": "--- Log opened lun. sept. 30 00:00:44 2024\n16:59 < ann> hi\n",
    "weechat": "2024-09-30 16:59:00\t@ann\thi\n",
    "weechat with a zone": "2024-09-30 16:59:00 +0200\tann\thi\n",
    "weechat in UTC": "2024-09-30T14:59:00Z\tann\thi\n",
    "znc": "[2024-09-30 16:59:00] <ann> hi\n",
    "hexchat": "**** BEGIN LOGGING AT Mon Sep 30 16:00:00 2024\n\nSep 30 16:59:00 <ann>\thi\n",
    "mirc": "Session Start: Mon Sep 30 16:00:00 2024\nSession Ident: #x\n[16:59] <ann> hi\n",
    "twelve hours": "--- Log opened Mon Sep 30 00:00:44 2024\n[04:59 PM] <+ann> hi\n",
    "iso": "[2024-09-30T16:59:00.000+02:00] <ann> hi\n",
    "dots": "30.09.2024 16:59:00 <ann> hi\n",
    "slashes": "30/09/2024, 16:59 <ann> hi\n",
    "pidgin": "(2024-09-30 16:59:00) ann: hi\n",
    "notice": "[2024-09-30 16:59:00] -ann- hi\n",
}


@pytest.mark.parametrize("log", LOGS.values(), ids=LOGS)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_irc_form(tmp_path: Path, log: str, ending: str) -> None:
    (tmp_path / "x.log").write_bytes(log.replace("\n", ending).encode())
    (found,) = read(tmp_path / "x.log")[0]
    assert (found.author.name, found.text, found.at) == ("ann", "hi", 1727708340.0)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252"])
def test_irc_encoding(tmp_path: Path, encoding: str) -> None:
    log = "2024-09-30 16:59:00\tann\tschönes Gemüse\n2024-09-30 17:00:00\tann\tja\n"
    (tmp_path / "x.weechatlog").write_bytes(log.encode(encoding))
    assert texts(tmp_path / "x.weechatlog") == ["schönes Gemüse", "ja"]


def test_irc_days_of_znc_are_one_channel(tmp_path: Path) -> None:
    for day, text in (("2024-09-30", "one"), ("2024-10-01", "two")):
        written(tmp_path / f"znc/#garden/{day}.log", f"[16:59:00] <ann> {text}\n".encode())
    (room,) = imported(tmp_path / "base", tmp_path / "znc").rooms
    assert room.saved.metadata.title == "#garden"
    assert lines(room.saved) == ["ann: one", "ann: two"]
    messages, _ = read(tmp_path / "znc")
    assert [each.at for each in messages] == [1727708340.0, 1727794740.0]


def test_irc_lines_without_time_continue(tmp_path: Path) -> None:
    log = "2024-06-06 23:22:29\t@ann\tlist:\nmilk\nbread\n2024-06-06 23:22:56\tbob\t\ttab\tbed\n"
    (tmp_path / "x.weechatlog").write_text(log)
    assert texts(tmp_path / "x.weechatlog") == ["list:\nmilk\nbread", "tab\tbed"]


def test_irc_actions_and_notices(tmp_path: Path) -> None:
    log = (
        "--- Log opened Mon Sep 30 00:00:44 2024\n10:00 -!- bob [b@h] has joined #x\n"
        "10:01 * bob digs\n10:02 * bob gives ann a plum\n10:03 *** Joins: eve (e@h)\n"
        "10:04 * eve has joined #x\n10:05 what is this\n--- Day changed Xyz 2\n09:00 <bob> next\n"
    )
    (tmp_path / "x.log").write_text(log)
    messages, left = read(tmp_path / "x.log")
    assert [(each.text, each.is_emote) for each in messages] == [
        *(("digs", True), ("gives ann a plum", True), ("next", False)),
    ]
    assert messages[2].at == 1727766000.0  # the header's date can't be read, so it is the next day
    assert [each.text for each in left if each.reason == "line that can't be read"] == [
        "10:05 what is this"
    ]


def test_irc_midnight_and_dst_keep_order(tmp_path: Path) -> None:
    lines_ = [
        "[2024-10-26 23:59:00] <ann> a",
        *(f"[2024-10-27 02:{minute}:00] <ann> b" for minute in ("30", "50")),
        *("[2024-10-27 02:10:00] <ann> c", "[2024-10-27 03:00:00] <ann> d"),
    ]
    (tmp_path / "x.log").write_text("\n".join(lines_))
    times = [each.at for each in read(tmp_path / "x.log")[0] if each.at is not None]
    assert times == sorted(times)
    (tmp_path / "chan_20241026.log").write_text("[23:59] <ann> a\n[00:01] <ann> b\n")
    first, second = (each.at or 0 for each in read(tmp_path / "chan_20241026.log")[0])
    assert second - first == 120


@pytest.mark.parametrize("text", ["Dear diary,\ntoday", "10:00 ann | hi\n", "[10:00] ann | hi\n"])
def test_unknown_log_quotes_first_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.log").write_text(text)
    with pytest.raises(NotImportable, match=re.escape(text.partition("\n")[0])):
        read(tmp_path / "x.log")


def test_archive_with_paths_upwards_is_read(tmp_path: Path) -> None:
    file = written(tmp_path / "c.json", [chat(asked("Hi"))])
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.write(file, "../../a/conversations.json")
        archive.write(file, "__MACOSX/conversations.json")
        archive.writestr("b\\.hidden", "x")
    assert texts(tmp_path / "export.zip") == ["Hi"]
    assert reasons(tmp_path / "export.zip") == {}
    assert not (tmp_path.parent / "a").exists()


def test_slack_file_comment_has_its_author(tmp_path: Path) -> None:
    message = {"ts": "1", "subtype": "file_comment", "text": "nice", "comment": {"user": "U2"}}
    (found,) = read(slack(tmp_path / "s", message))[0]
    assert (found.author.name, found.text) == ("bob", "nice")


def test_irssi_list_of_nicks_is_no_message(tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text("10:00 [@ann] [ bob]\n10:01 < bob> hi\n")
    assert texts(tmp_path / "x.log") == ["hi"]
