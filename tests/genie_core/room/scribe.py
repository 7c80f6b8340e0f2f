"""The formats of rooms, written a second time: JSON, hashes, signatures, TLS and websockets.

It shares no code with the program. What both agree on is the format; what a `Person` here signs, or a
`LyingHost` sends, is what anyone on the network could. Entries, bodies and frames are plain dicts.
"""

import base64
import hashlib
import json
import secrets
import ssl
import struct
import time
import zlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Self

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from cryptography.x509.oid import NameOID
from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

Dict = dict[str, Any]

LINK_BYTES: Final = 24
PREVIOUS_BYTES: Final = 12

FIELDS: Final[dict[str, Dict]] = {
    "opened": {"room": None, "title": None, "founding": None},
    "hosted": {
        "host": None,
        "room": "",
        "title": "",
        "key": "",
        "pin": "",
        "copied": "",
        "origin": "",
        "founding": None,
        "signature": "",
    },
    "suspended": {"reason": "", "heir": "", "deed": None, "by_heir": False, "signature": ""},
    "heirs": {
        "heirs": [],
        "anyone": False,
        "after": 60.0,
        "keys": [],
        "automatic": False,
        "issue": 0,
        "signature": "",
    },
    "confirmed": {"link": None, "previous": "", "signature": ""},
    "unreadable": {"why": None},
    "joined": {
        "role": None,
        "engine": False,
        "agent": "",
        "key": "",
        "device": "",
        "preferences": "",
        "visit": "",
        "previous": "",
        "signature": "",
    },
    "preferred": {"text": None, "previous": "", "signature": ""},
    "edited": {"message": None, "text": None, "previous": "", "signature": "", "sealed": []},
    "deleted": {"message": None, "previous": "", "signature": ""},
    "reacted": {
        "message": None,
        "reaction": None,
        "on": True,
        "answer": False,
        "previous": "",
        "signature": "",
    },
    "left": {"name": None, "reason": "", "device": ""},
    "equipped": {"agent": None, "device": ""},
    "said": {
        "id": None,
        "text": None,
        "handler": "",
        "emote": False,
        "device": "",
        "files": [],
        "quotes": [],
        "signature": "",
        "written": 0.0,
        "visits": [],
        "previous": "",
        "reply_to": 0,
        "to": "",
        "sealed": [],
        "about": "",
        "quiet": False,
    },
    "decided": {
        "message": None,
        "decision": None,
        "reason": None,
        "query": None,
        "receiver": None,
        "elapsed": 0.0,
        "signature": "",
        "spent": [],
        "previous": "",
        "sealed": [],
    },
    "asked": {
        "message": None,
        "approval": None,
        "agent": None,
        "tool": None,
        "arguments": None,
        "where": "",
        "withheld": False,
        "signature": "",
        "because": "",
        "risk": "",
        "binding": "",
        "unasked": False,
        "previous": "",
        "sealed": [],
    },
    "settled": {
        "message": None,
        "approval": None,
        "outcome": None,
        "reason": None,
        "scope": "once",
        "arguments": None,
        "count": 0,
        "how": "",
        "previous": "",
        "signature": "",
        "sealed": [],
    },
    "answered": {
        "message": None,
        "text": None,
        "receiver": None,
        "elapsed": 0.0,
        "signature": "",
        "spent": [],
        "cut": False,
        "previous": "",
        "sealed": [],
    },
    "failed": {
        "message": None,
        "stage": None,
        "error": None,
        "spent": [],
        "text": "",
        "signature": "",
        "previous": "",
        "sealed": [],
    },
    "cancelled": {
        "message": None,
        "reason": "",
        "spent": [],
        "text": "",
        "signature": "",
        "previous": "",
        "sealed": [],
    },
    "moderated": {"measure": None, "name": None, "role": None, "reason": "", "signature": ""},
    "shared": {"on": None, "signature": ""},
    "recovered": {"event": None},
}
"""The fields of each body in order, with what is left out; None stands for a field always there.

A field whose value is None is left out, too.
"""

FOUNDING: Final[Dict] = {
    "key": None,
    "name": None,
    "title": None,
    "nonce": None,
    "before": "",
    "signature": "",
}
DEED: Final[Dict] = {
    "room": None,
    "host": None,
    "key": None,
    "pin": None,
    "addresses": [],
    "at": 0.0,
    "signature": "",
}
NOT_SIGNED: Final = {
    "joined": ("role", "agent", "preferences"),
    "said": ("handler", "device", "files", "written"),
}
BY_HOST: Final = ("hosted", "suspended", "heirs", "moderated", "shared")
ABOUT_MESSAGES: Final = (
    *("decided", "asked", "settled", "answered", "failed", "cancelled"),
    *("edited", "deleted", "reacted"),
)


def compact(value: Any, *, ordered: bool = False) -> bytes:
    """JSON as it is signed and hashed; `ordered` sorts all keys."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=ordered)
    return text.encode()


def b64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def url64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def raw64(text: str) -> bytes:
    return base64.b64decode(text)


def prefixed(*parts: str | bytes) -> bytes:
    """Parts with their length before each."""
    raw = [part.encode() if isinstance(part, str) else part for part in parts]
    return b"".join(len(part).to_bytes(4, "big") + part for part in raw)


def tidy(fields: Dict, given: Dict) -> Dict:
    """What is written of a struct: its fields in order, without those that have their defaults.

    Fractions are written if they are given, as the program compares defaults by identity.
    """
    assert given.keys() <= fields.keys() | {"type"}, given.keys() - fields.keys()
    written = {name: given.get(name, default) for name, default in fields.items()}
    return {name: value for name, value in written.items() if _is_told(value, fields[name])}


def _is_told(value: Any, default: Any) -> bool:
    return value != default or (isinstance(value, float) and value is not default)


def body_of(given: Dict) -> Dict:
    kind = given["type"]
    ordered = {"type": kind, **tidy(FIELDS[kind], given)}
    if ordered.get("founding"):
        ordered["founding"] = tidy(FOUNDING, ordered["founding"])
    if ordered.get("deed"):
        ordered["deed"] = tidy(DEED, ordered["deed"])
    if kind == "recovered":
        ordered["event"] = entry_of(ordered["event"])
    return ordered


def entry_of(given: Dict) -> Dict:
    """An entry with the fields that are written, in their order."""
    entry = {name: given[name] for name in ("seq", "at", "by")} | {"body": body_of(given["body"])}
    return entry | ({"parent": given["parent"]} if given.get("parent") else {})


def link_of(entry: Dict) -> bytes:
    return hashlib.sha256(compact(entry_of(entry))).digest()[:LINK_BYTES]


def mark_of(entry: Dict) -> int:
    return zlib.crc32(compact(entry_of(entry)))


def line_of(entry: Dict) -> bytes:
    """An entry as a line of a saved log, with the right checksum."""
    start = compact(entry_of(entry))[:-1]
    return start + b',"crc":"%08x"}' % zlib.crc32(start) + b"\n"


def statement(room: str, body: Dict, about: str) -> bytes:
    """What the author of an entry signs; `about` is text, of bytes the base64."""
    content = body_of(body)
    kind = content.pop("type")
    for name in ("signature", *NOT_SIGNED.get(kind, ())):
        content.pop(name, None)
    if kind == "said":
        content["files"] = [[each["digest"], each["name"]] for each in body.get("files", ())]
    if kind in ABOUT_MESSAGES:
        content.pop("message")
    return b"genie-tui room entry 3\0" + compact([room, kind, about, content], ordered=True)


def founding_statement(founding: Dict) -> bytes:
    parts = (founding[name] for name in ("key", "name", "title", "nonce"))
    return prefixed("genie-tui room founding 1", *parts, founding.get("before", ""))


def id_of(founding: Dict) -> str:
    digest = hashlib.sha256(founding_statement(founding)).digest()[:15]
    return f"{founding['name']}-{base64.b32encode(digest).decode().lower()}"


def host_record_statement(host_record: Dict) -> bytes:
    texts = (
        host_record["room"],
        host_record["host"],
        host_record["key"],
        host_record["pin"],
        *host_record.get("addresses", ()),
    )
    return prefixed("genie-tui room deed 1", struct.pack(">d", host_record["at"]), *texts)


def meeting(context: str, room: str, hello: Dict, nonce: str, pin: str) -> bytes:
    return prefixed(context, room, hello["name"], hello["key"], hello["nonce"], nonce, pin)


def is_by(key: str, signature: str, data: bytes) -> bool:
    """Whether the owner of a key signed this."""
    try:
        raw = base64.urlsafe_b64decode(key + "=")
        Ed25519PublicKey.from_public_bytes(raw).verify(raw64(signature), data)
    except (InvalidSignature, ValueError):
        return False
    return True


class Person:
    """A name and a key that signs whatever it is told to."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._private = Ed25519PrivateKey.generate()
        self.key = url64(self._private.public_key().public_bytes_raw())

    def sign(self, data: bytes) -> str:
        return b64(self._private.sign(data))

    def signed(self, room: str, body: Dict, about: str = "") -> Dict:
        return body | {"signature": self.sign(statement(room, body, about))}

    def found(self, name: str, title: str, before: str = "") -> Dict:
        founding = {"key": self.key, "name": name, "title": title, "nonce": "n" * 22}
        if before:
            founding["before"] = before
        return founding | {"signature": self.sign(founding_statement(founding))}

    def host_record(self, room: str, pin: str, at: float, addresses: Sequence[str] = ()) -> Dict:
        host_record: Dict = {"room": room, "host": self.name, "key": self.key, "pin": pin, "at": at}
        host_record["addresses"] = list(addresses)
        return host_record | {"signature": self.sign(host_record_statement(host_record))}


class Log:
    """A room's log as a host writes it, honest or not."""

    def __init__(self, host: Person, title: str = "Team", *, began: float = 0.0) -> None:
        self.entries: list[Dict] = []
        self.clock = began or time.time() - 10_000
        self.founding = host.found(title.lower(), title)
        self.room = id_of(self.founding)
        created = {"type": "opened", "room": self.room, "title": title, "founding": self.founding}
        self.add("", created)
        self.host(host)
        self.join(host, role="host")

    def copy(self, upto: int | None = None) -> Self:
        """The log up to an entry, which goes on by itself."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.entries = self.entries[:upto]
        return other

    @property
    def parent(self) -> str:
        return b64(link_of(self.entries[-1])) if self.entries else ""

    @property
    def links(self) -> list[Dict]:
        kinds = ("hosted", "suspended", "heirs", "confirmed")
        return [each for each in self.entries if each["body"]["type"] in kinds]

    def add(
        self,
        by: str,
        body: Dict,
        signer: Person | None = None,
        about: str | None = None,
        *,
        at: float = 0.0,
        room: str = "",
    ) -> Dict:
        """Add an entry; a `signer` signs the body as its kind asks for, in another `room` if so."""
        self.clock = at or self.clock + 1.0
        if signer is not None:
            kind = body["type"]
            if about is None:
                about = self.parent if kind in BY_HOST else ""
                if kind in ABOUT_MESSAGES:
                    about = self._about(by, body)
                elif kind == "joined":
                    about = by
            body = signer.signed(room or self.room, body, about)
        entry = {"seq": len(self.entries) + 1, "at": self.clock, "by": by, "body": body}
        if self.entries:
            entry["parent"] = self.parent
        self.entries.append(entry_of(entry))
        return self.entries[-1]

    def _about(self, by: str, body: Dict) -> str:
        """The signature of the message; of the latest edit or reaction, for the next one."""
        number, kind = body["message"], body["type"]
        before = [
            each["body"]["signature"]
            for each in self.entries
            if each["by"] == by and kind in ("edited", "reacted")
            if (each["body"]["type"], each["body"].get("message")) == (kind, number)
        ]
        return str((before or [self.entries[number - 1]["body"].get("signature", "")])[-1])

    def host(self, who: Person, *, at: float = 0.0, pin: str = "") -> Dict:
        body = {"type": "hosted", "host": who.name, "key": who.key, "pin": pin}
        return self.add("", body, who, at=at)

    def join(self, who: Person, *, role: str = "member", engine: bool = False) -> Dict:
        body = {"type": "joined", "role": role, "key": who.key, "engine": engine}
        body["visit"] = secrets.token_urlsafe(12)
        return self.add(who.name, body, who)

    def say(self, who: Person, text: str, **more: Any) -> Dict:
        body = {"type": "said", "id": secrets.token_hex(8), "text": text, **more}
        return self.add(who.name, body, who)

    def close(self, host: Person, heir: Person | None = None, *, at: float = 0.0) -> Dict:
        body: Dict = {"type": "suspended", "reason": ""}
        if heir is not None:
            host_record = heir.host_record(self.room, "p" * 43, at or self.clock)
            body |= {"heir": heir.name, "deed": host_record}
        return self.add("", body, host, at=at)

    def heirs(self, host: Person, *heirs: Person, issue: int = 1) -> Dict:
        names, keys = [each.name for each in heirs], [each.key for each in heirs]
        body = {"type": "heirs", "heirs": names, "keys": keys, "issue": issue}
        return self.add(host.name, body, host)

    def moderate(self, host: Person, measure: str, name: str) -> Dict:
        return self.add(host.name, {"type": "moderated", "measure": measure, "name": name}, host)


class Chain:
    """Says, from entries alone, whose room it is: the members' check, written another time.

    It knows the strict part only: each link is signed by one who is in the order that the links
    before it, or those of the own log, made.
    """

    def __init__(self, entries: Sequence[Dict], room: str, founder: str = "") -> None:
        self.room = room
        self.founder = founder or entries[0]["body"]["founding"]["key"]
        self.keys = {
            each["by"]: each["body"]["key"] for each in entries if each["body"]["type"] == "joined"
        }

    def leads_to(self, links: Sequence[Dict], key: str) -> bool:
        """Whether all links, from the founder on, lead to the owner of this key."""
        host, head = "", self.founder
        lists: dict[str, tuple[int, list[str]]] = {}

        def hand_over(to: str) -> None:
            nonlocal head
            issue, before = lists.get(head, (0, []))
            lists.setdefault(to, (0, [key for key in before if key != to]))
            lists[head] = issue, []
            head = to

        for entry in links:
            body, about = entry["body"], entry.get("parent", "")
            signer = body["key"] if body["type"] == "hosted" else host
            if is_recovered := body["type"] == "recovered":
                entry = body["event"]
                body, about = entry["body"], entry.get("parent", "")
                signer = self.keys.get(entry["by"], "") if body["type"] == "heirs" else head
                if not signer:
                    continue
            if not is_by(signer, body.get("signature", ""), statement(self.room, body, about)):
                return False
            match body["type"]:
                case "hosted" if body["key"] in (host, *order_of(head, lists)):
                    host = body["key"]
                case "hosted":
                    return False
                case "suspended" if body.get("by_heir"):
                    pass
                case "suspended" if body.get("deed") and (host == head or is_recovered):
                    hand_over(body["deed"]["key"])
                case "heirs" if body.get("issue", 0) >= lists.get(signer, (0, []))[0]:
                    names = [self.keys.get(name.casefold(), "") for name in body.get("heirs", ())]
                    keys = body.get("keys") or [key for key in names if key]
                    lists[signer] = body.get("issue", 0), list(keys)
        return bool(host) and host == key


def order_of(head: str, lists: dict[str, tuple[int, list[str]]]) -> list[str]:
    """All keys below one, each heir before the next."""
    order: list[str] = []

    def descend(key: str) -> None:
        if key not in order:
            order.append(key)
            for heir in lists.get(key, (0, []))[1]:
                descend(heir)

    descend(head)
    return order


class Certificate:
    """A self-signed certificate for a host, in a file, and its pin."""

    def __init__(self, file: Path) -> None:
        private = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "genie-tui")])
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(private.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .sign(private, hashes.SHA256())
        )
        pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        file.write_bytes(certificate.public_bytes(Encoding.PEM) + pem)
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.minimum_version = ssl.TLSVersion.TLSv1_3
        self.tls.load_cert_chain(file)
        public = private.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        self.pin = url64(hashlib.sha256(public).digest())


class LyingHost:
    """Serves a log that may be anything, and remembers all frames that it is sent.

    It admits all who prove a key, sends the log, and records what they say as an honest host does.
    `founding` and `links` are what it shows; by default those of the log.
    """

    def __init__(
        self,
        folder: Path,
        host: Person,
        log: Log,
        *,
        founding: Dict | None = None,
        links: Sequence[Dict] | None = None,
    ) -> None:
        self.heard: list[Dict] = []
        self.port = 0
        self.log = log
        self._host = host
        self._founding = founding or log.founding
        self._links = links
        self._sent: dict[ServerConnection, int] = {}
        self._devices: dict[str, str] = {}
        self._certificate = Certificate(folder / f"{secrets.token_hex(4)}.pem")

    @property
    def pin(self) -> str:
        return self._certificate.pin

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Self]:
        async with serve(
            self._serve, "127.0.0.1", 0, ssl=self._certificate.tls, compression=None
        ) as server:
            self.port = next(iter(server.sockets)).getsockname()[1]
            yield self

    async def _serve(self, ws: ServerConnection) -> None:
        with suppress(ConnectionClosed):
            hello = await self._hear(ws)
            room, nonce = self.log.room, secrets.token_urlsafe(32)
            context = "genie-tui room host 1"
            signature = self._host.sign(meeting(context, room, hello, nonce, self.pin))
            links = self.log.links if self._links is None else list(self._links)
            await self._send(
                ws,
                {
                    "type": "challenge",
                    "nonce": nonce,
                    "room": room,
                    "key": self._host.key,
                    "signature": signature,
                    "founding": self._founding,
                    "links": links,
                },
            )
            prove = await self._hear(ws)
            await self._admit(ws, hello, prove["arrival"])
            while True:
                await self._take(hello, await self._hear(ws))
        self._sent.pop(ws, None)

    async def _admit(self, ws: ServerConnection, hello: Dict, arrival: Dict) -> None:
        log, since = self.log, arrival.get("since", 0)
        if since > len(log.entries) or (
            since and mark_of(log.entries[since - 1]) != arrival.get("mark")
        ):
            points = [[each["seq"], mark_of(each)] for each in reversed(log.entries)]
            await self._send(ws, {"type": "points", "points": points})
            gone = {"type": "refused", "code": "diverged", "text": "apart", "final": True}
            await self._send(ws, gone)
            await ws.close()
            return
        joined = {"type": "joined", "role": "member", "key": hello["key"]}
        self._devices[hello["name"]] = arrival.get("device", "")
        kept = ("engine", "agent", "device", "visit", "previous", "signature")
        log.add(hello["name"], joined | {name: arrival[name] for name in kept if name in arrival})
        welcome = {
            "type": "welcome",
            "room": log.room,
            "title": log.founding["title"],
            "name": hello["name"],
            "role": "member",
            "host": self._host.name,
            "head": len(log.entries),
            "limits": {},
        }
        await self._send(ws, welcome)
        self._sent[ws] = since
        await self.send_all()

    async def send_all(self) -> None:
        """Send what was added to the log to all who are here."""
        for ws, sent in list(self._sent.items()):
            events = self.log.entries[sent:]
            self._sent[ws] = len(self.log.entries)
            if events:
                with suppress(ConnectionClosed):
                    await self._send(ws, {"type": "entries", "events": events})

    async def _take(self, hello: Dict, frame: Dict) -> None:
        name = hello["name"]
        match frame["type"]:
            case "say":
                body = {part: frame[part] for part in frame if part in FIELDS["said"]}
                device = self._devices[name]
                self.log.add(name, {"type": "said", "handler": name, "device": device} | body)
            case "publish":
                self.log.add(name, frame["body"])
            case "prefer":
                self.log.add(name, frame | {"type": "preferred"})
        await self.send_all()

    async def _hear(self, ws: ServerConnection) -> Dict:
        frame: Dict = json.loads(await ws.recv())
        self.heard.append(frame)
        return frame

    async def _send(self, ws: ServerConnection, frame: Dict) -> None:
        await ws.send(json.dumps(frame))


class RawClient:
    """A participant made by hand, who sends what the test says."""

    def __init__(self, ws: ClientConnection, who: Person) -> None:
        self._ws = ws
        self.who = who
        self.room = ""
        self.challenge: Dict = {}
        self.entries: list[Dict] = []

    @classmethod
    @asynccontextmanager
    async def meeting(cls, address: str, who: Person) -> AsyncIterator[Self]:
        """Connect without regard to the certificate."""
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        async with connect(f"wss://{address}/", ssl=tls, proxy=None, compression=None) as ws:
            yield cls(ws, who)

    async def join(self, signature: str | None = None, *, name: str = "") -> Dict:
        """Shake hands; `signature` replaces that of the `joined` entry. Returns the last answer."""
        who, name = self.who, name or self.who.name
        nonce = secrets.token_urlsafe(16)
        hello = {"type": "hello", "name": name, "version": 6, "key": who.key, "nonce": nonce}
        await self.send(hello)
        self.challenge = challenge = await self.receive()
        self.room = challenge["room"]
        certificate = self._ws.transport.get_extra_info("ssl_object").getpeercert(True)
        public = x509.load_der_x509_certificate(certificate).public_key()
        raw = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        pin = url64(hashlib.sha256(raw).digest())
        context = "genie-tui room host 1"
        seen = meeting(context, self.room, hello, challenge["nonce"], pin)
        assert is_by(challenge["key"], challenge["signature"], seen)
        said = meeting("genie-tui room meeting 2", self.room, hello, challenge["nonce"], pin)
        visit = secrets.token_urlsafe(12)
        joined = {"type": "joined", "role": "member", "key": who.key, "visit": visit}
        signed = who.signed(self.room, joined, name)["signature"]
        arrival = {"visit": visit, "signature": signed if signature is None else signature}
        await self.send({"type": "prove", "signature": who.sign(said), "arrival": arrival})
        return await self.receive()

    async def send(self, frame: Dict) -> None:
        await self._ws.send(json.dumps(frame))

    async def receive(self) -> Dict:
        frame: Dict = json.loads(await self._ws.recv())
        if frame["type"] == "entries":
            self.entries += frame["events"]
        return frame

    async def until(self, condition: Callable[[Dict], object]) -> Dict:
        while not condition(frame := await self.receive()):
            pass
        return frame

    async def caught_up(self, head: int) -> None:
        while len(self.entries) < head:
            await self.receive()
