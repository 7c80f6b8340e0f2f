"""A saved room with something of everything that an export is about."""

import zlib
from hashlib import sha256
from pathlib import Path

from genie_core.room.protocol.events import (
    AnswerPosted,
    AnyBody,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    FileRef,
    HostStarted,
    MemberJoined,
    MessagePosted,
    RoomCreated,
)
from genie_core.sessions.labels import Label, Labels
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.metadata import SessionMetadata
from genie_core.sessions.session import SavedSession
from genie_core.storage.blobs import BLOBS_NAME, BlobStore

ID = "2026-11-21-standup-3fk9"
BORN = 1_795_000_000.0
FILE = b"a note of ann's\n" * 400
DIGEST = sha256(FILE).hexdigest()
REF = FileRef(DIGEST, "notes.txt", len(FILE), "text/plain")
BODIES: list[tuple[str, AnyBody]] = [
    ("", RoomCreated(ID, "Standup")),
    ("", HostStarted("ann")),
    ("ann", MemberJoined("host", engine=True, agent="offline helper")),
    ("ann", MessagePosted("m1", "what is 17*23? see the file", handler="ann", files=(REF,))),
    ("ann", DecisionMade(4, "delegate", "a question", query="what is 17*23?")),
    ("ann", ApprovalRequested(4, "a1", "system", "calculate", {"what": "17*23"}, withheld=True)),
    ("ann", ApprovalResolved(4, "a1", "approved")),
    ("ann", AnswerPosted(4, "391", receiver="ann", elapsed=2.5)),
    ("ann", MessagePosted("m2", "thanks!", handler="ann")),
    ("ann", DecisionMade(9, "ignore", "nothing is asked")),
]


def unknown_line(seq: int) -> bytes:
    """An entry of a kind that a later version may know."""
    data = b'{"seq":%d,"at":%r,"by":"ann","body":{"type":"danced","far":[1]}' % (seq, BORN)
    return data + b',"crc":"%08x"}\n' % zlib.crc32(data)


def log_bytes() -> bytes:
    events = [Event(n, BORN + n, by, body) for n, (by, body) in enumerate(BODIES, 1)]
    return b"".join(map(encode_line, events)) + unknown_line(len(BODIES) + 1)


def saved_room(base: Path, **fields: object) -> SavedSession:
    """The room, complete with what must never leave its folder."""
    particulars = {"id": ID, "title": "Standup", "kind": "hosted", "created": BORN, "host": "ann"}
    record = SessionMetadata(**{**particulars, **fields})  # type: ignore[arg-type]  # tests choose
    folder = ID if record.kind == "hosted" else f"{ID}@{record.name}"
    saved = SavedSession(base / folder, record)
    saved.write()
    saved.log_path.write_bytes(log_bytes())
    with saved.reader() as log:
        saved.summarise(log.state(), BORN + 10)
    Labels.read(saved.folder).put(Label(9, "wrong", "ignore", BORN + 20, "ann"))
    (saved.folder / "passes.json").write_text('{"bob": "the pass of bob"}')
    (saved.folder / "withheld.jsonl").write_text('{"arguments": "withheld from all"}\n')
    (saved.folder / "view.json").write_text('{"draft": "an unfinished thought"}')
    saved.engine_path.mkdir()
    (saved.engine_path / "memory.json").write_text('"what an agent remembers"')
    (base / "from").write_bytes(FILE)
    BlobStore(saved.folder / BLOBS_NAME).add(base / "from")
    (base / "from").unlink()
    return saved


SECRETS = (b"the pass of bob", b"withheld from all", b"unfinished thought", b"agent remembers")
