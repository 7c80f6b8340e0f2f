"""What a program writes for other versions of itself: on the wire, on the disk, in signatures.

`python -m tests.contract.formats` writes `tests/data/formats.json` anew. Each change of that file is
one that older programs and saved sessions see.
"""

import json
import sqlite3
import tempfile
import typing
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final
from unittest import mock

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from msgspec import inspect
from tests.genie_core.sessions.log_content import read_lines

from genie_core.assistant.what_if.report import WhatIfReport
from genie_core.assistant.what_if.saved_reports import FOLDER as REPORTS_NAME
from genie_core.room.discovery import service_record as announcement
from genie_core.room.discovery.service_record import Announcement, write_announcement
from genie_core.room.engine.private_arguments import PrivateArguments
from genie_core.room.participant.presence import TOKENS_NAME
from genie_core.room.protocol import frames as frame
from genie_core.room.protocol.address import Address
from genie_core.room.protocol.codec import encode
from genie_core.room.protocol.events import (
    AnyBody,
    ApprovalRequested,
    Event,
    MessagePosted,
    SignedBody,
)
from genie_core.room.protocol.founding import Founding
from genie_core.room.protocol.frames import AnswerApproval, ClientFrame, ServerFrame
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.security import challenge as proof
from genie_core.room.security import founding, host_records, invite
from genie_core.room.security import signing as authorship
from genie_core.room.security.chain import link_of
from genie_core.room.security.challenge import Transcript
from genie_core.room.security.founding import found_room, room_id
from genie_core.room.security.host_records import sign_host_record
from genie_core.room.security.identity import Identity, load_identity, words
from genie_core.room.security.invite import Invite, write_invite
from genie_core.room.security.invite_tokens import InviteToken, InviteTokens
from genie_core.room.security.signing import sign, sign_answer
from genie_core.room.state import snapshot as checkpoint
from genie_core.room.state.members import Person
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.snapshot import encode_state
from genie_core.room.state.thread import MessageThread, ToolApproval
from genie_core.sessions import metadata
from genie_core.sessions.export import header as header
from genie_core.sessions.export.jsonl import SESSION_NAME
from genie_core.sessions.labels import LABELS_NAME, Label
from genie_core.sessions.lock import LOCK_NAME, LockHolder
from genie_core.sessions.log import index
from genie_core.sessions.log.format import LoggedEvent, encode_line
from genie_core.sessions.metadata import SessionMetadata, encode_metadata
from genie_core.sessions.search import store as search_store
from genie_core.sessions.session import ENGINE_NAME, LOG_NAME, METADATA_NAME, WITHHELD_NAME
from genie_core.sessions.view_state import VIEW_NAME, View
from genie_core.storage.blobs import BLOBS_NAME
from genie_core.storage.journal import encode_line as encode_journal_line

FILE: Final = Path(__file__).parents[1] / "data/formats.json"

PRIVATE: Final = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
ANN: Final = Identity(PRIVATE)
PIN: Final = "A" * 43
SIGNED: Final = typing.get_args(SignedBody)

Kind = type[msgspec.Struct]


def formats(history: bytes) -> dict[str, dict[str, Any]]:
    """Everything that is kept; `history` is the log of a room."""
    return {
        "versions and names": constants(),
        "to the room": each_of(ClientFrame, lambda one: encode(one).decode()),
        "from the room": each_of(ServerFrame, lambda one: encode(one).decode()),
        "events": each_of(AnyBody, lambda one: encode_line(Event(7, 1.5, "ann", one)).decode()),
        "an event": {"fields": shape(Event)},
        "files": {**files(), "events.idx": indexed(history), "search.sqlite3": tables()},
        "signatures": signatures(),
        "checkpoint": {
            **{
                str(place): shape(kind)
                for place, kind in enumerate((Person, MessageThread, ToolApproval))
            },
            "of the history": plain(encode_state(folded(history))),
        },
    }


def each_of(union: Any, write: Callable[[Any], str]) -> dict[str, Any]:
    """Each class of a union by its tag: its fields, a sample of all, and one of the least."""
    return {
        tag(kind): {
            "fields": shape(kind),
            "all": write(sample(kind)),
            "least": write(sample(kind, least=True)),
        }
        for kind in sorted(typing.get_args(union), key=tag)
    }


def strays() -> list[str]:
    """The tags of classes that no union holds, though they have the base of one that it holds."""
    found = []
    for union in (ClientFrame | ServerFrame, AnyBody):
        known = typing.get_args(union)
        found += [tag(each) for each in below(known[0].__base__) if each not in known]
    return found


def below(base: type) -> Iterator[Any]:
    direct: list[Any] = base.__subclasses__()
    for each in direct:
        yield each
        yield from below(each)


def tag(kind: Kind) -> str:
    return str(kind.__struct_config__.tag)


def constants() -> dict[str, Any]:
    return {
        "protocol": frame.VERSION,
        "known": list(frame.KNOWN),
        "checkpoint": checkpoint.VERSION,
        "index": index.VERSION,
        "record": [metadata.OLDEST, metadata.FORMAT],
        "export": header.VERSION,
        "search": search_store.VERSION,
        "invite": invite.PREFIX,
        "service": [announcement.SERVICE, announcement.VERSION],
        "contexts": [
            each.decode()
            for each in (
                host_records.CONTEXT,
                proof.CONTEXT,
                proof.HOST_CONTEXT,
                founding.CONTEXT,
                authorship.ENTRY,
                authorship.OLD_SPEECH,
                authorship.OLDEST_SPEECH,
                authorship.ANSWER,
                authorship.OLD_REPORT,
            )
        ],
        "names": [
            *(BLOBS_NAME, SESSION_NAME, index.INDEX_NAME, LABELS_NAME, LOCK_NAME, ENGINE_NAME),
            *(LOG_NAME, METADATA_NAME, WITHHELD_NAME, TOKENS_NAME, VIEW_NAME, REPORTS_NAME),
        ],
    }


def files() -> dict[str, Any]:
    """Files beside the log, each with its fields and what is written of a sample."""
    record, part = sample(SessionMetadata), header.ExportPart(2, 7, "0" * 64)
    kept: dict[str, tuple[type, bytes]] = {
        "room.json": (SessionMetadata, encode_metadata(record)),
        "room.json at first": (
            SessionMetadata,
            encode_metadata(sample(SessionMetadata, least=True)),
        ),
        "view.json": (View, msgspec.json.encode(sample(View))),
        "labels.jsonl": (Label, msgspec.json.encode(sample(Label))),
        "lock": (LockHolder, msgspec.json.encode(sample(LockHolder))),
        "whatif": (WhatIfReport, msgspec.json.encode(sample(WhatIfReport))),
        "passes.json": (InviteToken, InviteTokens([InviteToken("p1", b"0" * 16, 2.5, 3)]).encode()),
        "export": (header.Header, header.encode_header(record, part, part)),
    }
    places = (Address("10.0.0.1", 7654), Address("host.example", 7655))
    announced = write_announcement(Announcement(a_host_record(), "Standup", 7654))
    return {
        **{
            name: {"fields": shape(kind), "all": data.decode()}
            for name, (kind, data) in kept.items()
        },
        "withheld.jsonl": withheld(),
        "a journal of an engine": encode_journal_line({"ü": [1, None, 0.5]}).decode(),
        "NAME.key": key_file(),
        "an invite": write_invite(Invite(places, PIN, "p1", b"0" * 16, "Standup")),
        "an announcement": {name: value.decode("latin-1") for name, value in announced.items()},
    }


def withheld() -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / WITHHELD_NAME
        PrivateArguments(path).add(sample(ApprovalRequested))
        return path.read_text()


def key_file() -> str:
    """The file that holds ann's key, which must be understood."""
    pem = PRIVATE.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ann.key"
        path.touch(0o600)
        path.write_bytes(f"{ANN.key}\n".encode() + pem)
        assert load_identity(path).key == ANN.key
        return path.read_text()


def a_host_record() -> HostRecord:
    return sign_host_record(
        ANN, room="r1", host="ann", pin=PIN, addresses=("10.0.0.1:7654", "[::1]:7655"), at=3.5
    )


def a_founding() -> Founding:
    with mock.patch("secrets.token_urlsafe", return_value="0123456789abcdef"):
        return found_room(ANN, "Standup", "Standup", before="r0")


def signatures() -> dict[str, str]:
    meeting = Transcript("r1", "ann", ANN.key, "n1", "n2", PIN)
    made = {
        "deed": a_host_record().signature,
        "meeting": ANN.sign(meeting.encode()),
        "host": ANN.sign(meeting.encode_for_host()),
        "invite": meeting.prove(b"0" * 16),
        "founding": a_founding().signature,
        "room": room_id(a_founding()).encode(),
        "link": link_of(Event(7, 1.5, "ann", sample(MessagePosted), b"parent")),
        "rule": sign_answer(ANN, "r1", sample(AnswerApproval)).signature,
        **{
            tag(kind): sign(ANN, "r1", sample(kind), "about", b"previous").signature
            for kind in SIGNED
        },
    }
    return {
        **{name: value.hex() for name, value in made.items()},
        "words": words(ANN.key),
        "shown": sample(ToolApproval).digest,
    }


def folded(history: bytes) -> RoomState:
    state = RoomState()
    for event in read_lines(history).events:
        state.apply(event)
    return state


def plain(state: bytes) -> Any:
    return json.loads(zlib.decompress(state))


def indexed(history: bytes) -> Any:
    """The index of a log, but for what the system says of the file."""
    with tempfile.TemporaryDirectory() as folder:
        log, path = Path(folder) / LOG_NAME, Path(folder) / index.INDEX_NAME
        log.write_bytes(history)
        found = index.LogIndex()
        for each in read_lines(history).events:
            found.take(LoggedEvent(each, 0, 0))
        found.cover(len(history), history.count(b"\n"), zlib.crc32(history))
        found.note_base(only=True)
        with log.open("rb") as file:
            found.save(path, file.fileno())
        data = path.read_bytes()
    assert data[:4] == zlib.crc32(data[4:]).to_bytes(4)
    stored = msgspec.msgpack.decode(data[4:], strict=False)
    stored["stamp"] = len(stored["stamp"])
    for base in stored["bases"]:
        del base["state"]
        base["damages"] = msgspec.msgpack.decode(base["damages"])
    stored["places"] = [list(each) for each in stored["places"]]
    return stored


def tables() -> list[str]:
    """The tables of the search index, as SQLite keeps them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "search.sqlite3"
        search_store.SearchStore.open(path).close()
        with closing(sqlite3.connect(path)) as connection:
            rows = connection.execute(
                "SELECT sql FROM sqlite_master WHERE name IN ('room', 'document') ORDER BY name"
            )
            return [" ".join(str(sql).split()) for (sql,) in rows]


def shape(kind: Any) -> dict[str, str]:
    return fields(inspect.type_info(kind))


def fields(info: Any) -> dict[str, str]:
    """What each field is, and what it is without being told."""
    return {each.encode_name: outline(each.type) + default(each) for each in info.fields}


def default(field: Any) -> str:
    if field.required:
        return ""
    value = field.default
    if value is msgspec.NODEFAULT:
        value = field.default_factory()
    return f" = {msgspec.json.encode(value, enc_hook=repr).decode()}"


def outline(info: Any) -> str:
    """A type without the names that it has in Python."""
    match info:
        case inspect.StructType(tag=str() as name):
            return name
        case inspect.StructType() | inspect.DataclassType():
            return "{" + ", ".join(f"{name}: {kind}" for name, kind in fields(info).items()) + "}"
        case inspect.UnionType(types=types):
            return " | ".join(sorted(map(outline, types)))
        case inspect.LiteralType(values=values):
            return " | ".join(sorted(map(repr, values)))
        case inspect.EnumType(cls=cls):
            return " | ".join(sorted(repr(each.value) for each in cls))
        case inspect.VarTupleType() | inspect.ListType() | inspect.SetType():
            return f"[{outline(info.item_type)}]"
        case inspect.TupleType():
            return f"[{', '.join(map(outline, info.item_types))}]"
        case inspect.DictType():
            return f"{{{outline(info.key_type)}: {outline(info.value_type)}}}"
    limits = msgspec.structs.asdict(info)
    told = "".join(f" {name} {value}" for name, value in limits.items() if value is not None)
    return type(info).__name__.removesuffix("Type").lower() + told


def sample(kind: Any, *, least: bool = False) -> Any:
    """An instance with a value of its own in each field; with `least` in those that need one."""
    info: Any = inspect.type_info(kind)
    return kind(
        **{
            each.name: value_of(each.type, each.name, each.default)
            for each in info.fields
            if each.required or not least
        }
    )


def value_of(info: Any, name: str, usual: Any = None) -> Any:
    """A value that is not the usual one and can be told from that of another field."""
    match info:
        case inspect.StructType(cls=cls) | inspect.DataclassType(cls=cls):
            return sample(cls)
        case inspect.UnionType(types=types):
            return value_of(min(types, key=_by_tag), name, usual)
        case inspect.LiteralType(values=values):
            return max((each for each in values if each != usual), key=str)
        case inspect.EnumType(cls=cls):
            return max((each for each in cls if each != usual), key=lambda each: each.value)
        case inspect.VarTupleType() | inspect.ListType() | inspect.SetType():
            made = [value_of(info.item_type, name)]
            return tuple(made) if isinstance(info, inspect.VarTupleType) else made
        case inspect.TupleType():
            return tuple(value_of(each, name) for each in info.item_types)
        case inspect.DictType():
            return {value_of(info.key_type, name): value_of(info.value_type, name)}
        case inspect.IntType():
            return info.le - 1 if info.le is not None else len(name) + 1
        case inspect.FloatType():
            return info.le / 2 if info.le is not None else len(name) + 0.5
        case inspect.BoolType():
            return usual is not True
        case inspect.BytesType():
            return name.encode()
        case inspect.StrType():
            return "0a" * 32 if name == "digest" else name
    return [1, None, 0.5, {"ü": True}]


def _by_tag(info: Any) -> tuple[bool, str]:
    return isinstance(info, inspect.NoneType), str(getattr(info, "tag", ""))


def history() -> bytes:
    """The log that checkpoint and index are made from."""
    return "".join(json.loads(FILE.read_text())["history"]).encode()


def text(history: bytes) -> str:
    kept = {"history": history.decode().splitlines(keepends=True), **formats(history)}
    return json.dumps(kept, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(history()))
