"""Handles the frames of members: messages, reports of engines, requests to stop runs."""

import math
from collections import OrderedDict
from typing import Final

import msgspec

from genie_core.room.protocol.codec import normal, size_of, whole_text
from genie_core.room.protocol.errors import FrameError, QuietUnknown
from genie_core.room.protocol.events import (
    MOST_REACTIONS,
    MOST_READERS,
    MOST_VISITS,
    PREFERENCE_CHARS,
    REACTION_CHARS,
    VISIT_CHARS,
    AnswerPosted,
    AnyBody,
    ChangeBody,
    DecisionMade,
    EngineChanged,
    FileRef,
    MessageDeleted,
    MessageEdited,
    MessagePosted,
    PreferencesChanged,
    Quote,
    QuotedLine,
    ReactionChanged,
    Role,
    RunBody,
    is_moment,
)
from genie_core.room.protocol.frames import (
    QUIET,
    AgentProgress,
    AnswerApproval,
    AnswerDelta,
    ApprovalAnswered,
    ChangeMessage,
    FrameRefused,
    MemberTyping,
    PostMessage,
    Publish,
    Refusal,
    ReportDelta,
    ReportProgress,
    SetEngine,
    SetPreferences,
    Stop,
    Stopping,
    posted_by,
)
from genie_core.room.protocol.limits import AGENT_PER_MINUTE, AGENT_TURNS, Limits
from genie_core.room.protocol.names import fold_name, is_blank
from genie_core.room.security.keys import SIGNATURE_BYTES
from genie_core.room.security.sealing import OVERHEAD, PADDING
from genie_core.room.security.signing import PREVIOUS_BYTES
from genie_core.room.server.admission import TOO_FAST
from genie_core.room.server.file_requests import FileRequests
from genie_core.room.server.log_window import LogWindow
from genie_core.room.server.peers import Peer, PeerRegistry, Refused
from genie_core.room.server.quotas import Quotas
from genie_core.room.state.private import objection_to_private
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread, Phase
from genie_core.text.safe import is_emoji

ID_CHARS: Final = 64
LABEL_CHARS: Final = 200
"""Longest label of an engine; longer ones are cut off."""

REMEMBERED_IDS: Final = 4096
PATH_CHARS: Final = 400
"""Longest path of an agent, or line about its work, that is passed on."""

CROSSED: Final = "the message was edited meanwhile"
SILENCED: Final = "you may read here, not write"
REPEATS: Final = "you keep sending what the room has already; come back in a while"
LOOPING: Final = f"agents have posted {AGENT_TURNS} messages since a person last wrote; wait until a person writes"
AGENT_TOO_FAST: Final = (
    f"an agent may post {AGENT_PER_MINUTE} messages a minute; try again in {{}} s"
)
CLOSING: Final = "the host suspends the room; this is sent when it is back"


class FrameHandlers:
    """Checks the frames of members and records valid ones.

    Raises `Refused` for a frame that is not; ephemeral ones are dropped silently. While `closing`,
    messages are put off: their authors keep them until the room is back.
    """

    def __init__(
        self,
        log: LogWindow,
        peers: PeerRegistry,
        quotas: Quotas,
        files: FileRequests,
        limits: Limits,
    ) -> None:
        self._log = log
        self._peers = peers
        self._quotas = quotas
        self._files = files
        self._limits = limits
        self._published = _Recent()
        self.closing = False

    @property
    def _state(self) -> RoomState:
        return self._log.state

    def say(self, peer: Peer, say: PostMessage, now: float) -> None:
        """Record a message once per author and id."""
        if self._state.has_said(peer.name, say.id):
            self._note_repeat(peer, now)
            return  # the recorded event is the answer
        if self.closing:
            # No strike: a program that doesn't know of this tries again each second.
            self._peers.reply(peer, FrameRefused("too_fast", CLOSING, say.id[:ID_CHARS]))
            return
        self._check_message(peer, say, now)
        files = self._files.as_stored(say.files)
        if isinstance(files, str):
            raise Refused("unknown_file", f"a file of this message is not at the host: {files}")
        self._record(peer, self._as_said(peer, say, files), now)
        peer.strikes = 0

    def change(self, peer: Peer, change: ChangeMessage, now: float) -> None:
        """Record an edit, a deletion or a reaction, unless it changes nothing."""
        body = _whole_change(change.body)
        thread = self._state.threads.get(body.message)
        if thread is None:
            why = f"message {body.message} is unknown, or too old to be changed"
            raise Refused("unknown_message", why)
        self._check_may_write(peer)
        if why := self._objection_to_change(peer, body, thread):
            raise Refused("not_allowed", why)
        if _changes_nothing(peer.name, body, thread):
            self._note_repeat(peer, now)
            return
        self._check_disk()
        if not self._quotas.speak(peer, size_of(change), now):
            raise Refused("too_fast", TOO_FAST)
        if isinstance(body, MessageEdited) and thread.edit is not None:
            self._record(peer, body, now, CROSSED)
        else:
            self._record(peer, body, now)

    def _objection_to_change(self, peer: Peer, body: ChangeBody, thread: MessageThread) -> str:
        match body:
            case ReactionChanged() if thread.is_private:
                return "all members would see a reaction to a private message"
            case ReactionChanged(reaction=reaction) if not is_reaction(reaction):
                return "a reaction is an emoji"
            case ReactionChanged(on=True, answer=answer, reaction=reaction):
                reactions = thread.answer_reactions if answer else thread.reactions
                is_full = reaction not in reactions and len(reactions) >= MOST_REACTIONS
                return f"there are {MOST_REACTIONS} kinds of reactions already" if is_full else ""
            case MessageEdited() | MessageDeleted() if thread.author != peer.name:
                return f"message {thread.seq} is {thread.author}'s"
            case MessageEdited() | MessageDeleted() if thread.is_deleted:
                return f"message {thread.seq} is deleted"
            case MessageEdited(sealed=sealed) if len(sealed) != len(thread.said.sealed):
                return "the message and its new text must both be private, or neither"
            case MessageEdited(sealed=sealed) if sealed:
                return self._objection_to_boxes(sealed)
            case MessageEdited(text=text) if is_blank(text):
                return "a message without text; delete it instead"
            case MessageEdited(text=text) if len(text) > self._limits.text_chars:
                return f"a message has at most {self._limits.text_chars:,} characters"
        return ""

    def _as_said(self, peer: Peer, say: PostMessage, files: tuple[FileRef, ...]) -> MessagePosted:
        handler, device = (
            self._state.handler_for(peer.name, peer.device)
            if say.to in ("", peer.name)
            else ("", "")
        )
        return msgspec.structs.replace(
            posted_by(say),
            id=whole_text(say.id),
            text=whole_text(say.text),
            handler=handler,
            device=device,
            files=files,
            quotes=tuple(_whole_quote(quote) for quote in say.quotes),
            signature=say.signature[:SIGNATURE_BYTES],
            visits=tuple(whole_text(visit, VISIT_CHARS) for visit in say.visits[:MOST_VISITS]),
            previous=say.previous[:PREVIOUS_BYTES],
            about=say.about[:SIGNATURE_BYTES],
        )

    def _record(self, peer: Peer, body: AnyBody, now: float, instead: str = "") -> None:
        """Record a body that its author signed; refuse another with its flaw, or a text instead."""
        if why := self._log.objection(peer.name, body, now):
            raise Refused("unproven", instead or f"this can't be recorded: {why}")
        self._log.record(peer.name, body, now)

    def _check_may_write(self, peer: Peer) -> None:
        if not self.is_silenced(peer):
            return
        if fold_name(peer.name) in self._state.muted:
            raise Refused("muted", "the host has muted you")
        raise Refused("not_allowed", SILENCED)

    def _check_disk(self) -> None:
        if obstacle := self._log.obstacle:
            raise Refused("disk", obstacle)

    def publish(self, peer: Peer, publish: Publish, now: float) -> None:
        """Record a report of the responsible engine, once per id."""
        if (peer.name, publish.id) in self._published:
            self._note_repeat(peer, now)
            return
        if not _is_id(publish.id):
            raise Refused("malformed", f"an id has 1 to {ID_CHARS} characters")
        self._check_disk()
        if not self._quotas.work(peer, now):
            raise Refused("too_fast", "the engine reports too much")
        try:
            body = normal(publish.body, self._limits.frame_bytes)
        except FrameError as error:
            raise Refused(error.code, str(error)) from error
        if isinstance(body, AnswerPosted) and is_blank(body.text) and not body.sealed:
            raise Refused("malformed", "the answer is blank")
        objection = self._state.objection(body, peer.name, peer.device)
        if objection is not None:
            raise Refused(self._code(body.message, peer.name), objection)
        if not self._is_under_way(body):
            self._check_may_write(peer)
        if not self._quotas.record(peer, size_of(body), now):
            raise Refused("too_fast", TOO_FAST)
        self._record(peer, body, now)
        self._published.add(peer.name, publish.id)
        peer.strikes = 0

    def _is_under_way(self, body: RunBody) -> bool:
        """Whether this belongs to a running run and starts no other."""
        thread = self._state.running.get(body.message)
        if thread is None:
            return False
        return thread.phase is Phase.DECIDING or not isinstance(body, DecisionMade)

    def set_engine(self, peer: Peer, equip: SetEngine, now: float) -> None:
        """Record an engine's new label."""
        terminal = self._state.people[peer.name].terminals[peer.device]
        label = whole_text(equip.agent, LABEL_CHARS)
        if not terminal.engine:
            raise Refused("out_of_state", "a guest has no engine to speak of")
        if self.is_silenced(peer):
            raise Refused("not_allowed", SILENCED)
        if label == terminal.agent:
            self._note_repeat(peer, now)
            return
        self._check_disk()
        if not (self._quotas.nudge(peer, now) and self._quotas.record(peer, len(label), now)):
            raise Refused("too_fast", "the engine changes too often")
        self._log.record(peer.name, EngineChanged(label, peer.device), now)

    def set_preferences(self, peer: Peer, prefer: SetPreferences, now: float) -> None:
        """Record how a member wants to be answered."""
        text = whole_text(prefer.text)
        if self.is_silenced(peer):
            raise Refused("not_allowed", SILENCED)
        if len(text) > PREFERENCE_CHARS:
            raise Refused("too_long", f"preferences have at most {PREFERENCE_CHARS:,} characters")
        if text == self._state.preferences.get(fold_name(peer.name), ""):
            self._note_repeat(peer, now)
            return
        self._check_disk()
        if not self._quotas.speak(peer, size_of(prefer), now):
            raise Refused("too_fast", TOO_FAST)
        previous, signature = prefer.previous[:PREVIOUS_BYTES], prefer.signature[:SIGNATURE_BYTES]
        self._record(peer, PreferencesChanged(text, previous, signature), now)

    def typing(self, peer: Peer, now: float) -> None:
        if not self.is_silenced(peer) and self._quotas.nudge(peer, now):
            self._peers.signal(peer, MemberTyping(peer.name))

    def progress(self, peer: Peer, progress: ReportProgress, now: float) -> None:
        """Forward an agent's progress, if it comes from the terminal of the run."""
        if not self._runs_at(peer, progress.message):
            self._note_repeat(peer, now)
            return
        agent = whole_text(progress.agent, PATH_CHARS)
        detail = whole_text(progress.detail, PATH_CHARS)
        if self._quotas.pass_on(peer, len(agent) + len(detail), now):
            self._peers.signal(peer, AgentProgress(progress.message, agent, progress.what, detail))

    def _note_repeat(self, peer: Peer, now: float) -> None:
        """Charge a frame that gets no answer; dismiss a peer that sends too many."""
        if not self._quotas.repeat(peer, now):
            self._peers.drop(peer, REPEATS)

    def _runs_at(self, peer: Peer, message: int) -> bool:
        """Whether the run for a message belongs to this terminal."""
        thread = self._state.running.get(message)
        if thread is None or thread.handler != peer.name:
            return False
        return not self._state.is_elsewhere(thread, peer.device)

    def delta(self, peer: Peer, delta: ReportDelta, now: float) -> None:
        """Forward text of a streaming answer, if it comes from the terminal of the run."""
        if not self._runs_at(peer, delta.message) or len(delta.text) > self._limits.text_chars:
            self._note_repeat(peer, now)
            return
        if self._quotas.pass_on(peer, len(delta.text), now):
            self._peers.signal(peer, AnswerDelta(delta.message, whole_text(delta.text)))

    def stop(self, peer: Peer, stop: Stop, now: float) -> None:
        """Ask the engine to stop a run, for the message's author or the engine's owner."""
        thread = self._state.running.get(stop.message)
        if thread is None:
            raise Refused("out_of_state", f"nothing runs for message {stop.message}")
        if peer.name not in (thread.author, thread.handler):
            why = f"only {thread.author} and {thread.handler} may stop this run"
            raise Refused("not_responsible", why)
        if not self._quotas.nudge(peer, now):
            raise Refused("too_fast", "too many requests to stop; slow down")
        terminals = self._terminals_of(thread)
        if not terminals:
            raise Refused("out_of_state", f"{thread.handler} is not here")
        for terminal in terminals:
            self._peers.reply(terminal, Stopping(stop.message, peer.name))

    def answer_approval(self, peer: Peer, answer: AnswerApproval, now: float) -> None:
        """Forward an answer to the owner's terminal where the request waits."""
        approval = self._state.open.get(answer.approval)
        if approval is None or approval.owner != peer.name:
            raise Refused("out_of_state", "that tool call does not wait for you")
        terminals = self._terminals_of(self._state.threads[approval.message])
        elsewhere = [terminal for terminal in terminals if terminal is not peer]
        if not elsewhere:
            raise Refused("out_of_state", "the terminal where it waits is not here")
        if not self._quotas.work(peer, now):
            raise Refused("too_fast", TOO_FAST)
        answered = ApprovalAnswered(*msgspec.structs.astuple(answer))
        for terminal in elsewhere:
            self._peers.reply(terminal, answered)

    def _terminals_of(self, thread: MessageThread) -> list[Peer]:
        """Return a run's terminal; if it is gone, the owner's other terminals."""
        terminal = self._peers.terminal(thread.handler, thread.device)
        return [terminal] if terminal is not None else self._peers.at(thread.handler)

    def is_silenced(self, peer: Peer) -> bool:
        """Whether this member may not write."""
        return self.is_silent_role(peer.name, self._state.people[peer.name].role)

    def is_silent_role(self, name: str, role: Role) -> bool:
        """Whether a person with this name and role may not write, present or not."""
        return role == "observer" or fold_name(name) in self._state.muted

    def _check_message(self, peer: Peer, say: PostMessage, now: float) -> None:
        limit = self._limits.text_chars
        if not _is_id(say.id):
            raise Refused("malformed", f"an id has 1 to {ID_CHARS} characters")
        self._check_may_write(peer)
        if not 0 <= say.reply_to <= self._log.head:
            raise Refused("unknown_message", f"there is no message {say.reply_to} to reply to")
        if say.to or say.sealed:
            if why := self._objection_to_private(peer, say):
                raise Refused("not_allowed", why)
        elif is_blank(say.text) and not (say.files or say.quotes):
            raise Refused("malformed", "a message without text")
        if len(say.files) > self._limits.files:
            raise Refused("too_long", f"a message has at most {self._limits.files} files")
        if _quoted_chars(say.quotes) > self._limits.quote_chars:
            why = f"at most {self._limits.quote_chars:,} characters are quoted at once"
            raise Refused("too_long", why)
        if len(say.text) > limit:
            why = f"the message has {len(say.text):,} characters, the limit is {limit:,}"
            raise Refused("too_long", why)
        if say.quiet and (older := self._peers.without(QUIET)):
            raise Refused("not_allowed", str(QuietUnknown(f"{older[0].name}'s")))
        self._check_disk()
        if self._state.members.is_agent(peer.name) and (why := self._objection_to_agent(peer, now)):
            raise Refused("not_allowed", why)
        if not self._quotas.speak(peer, size_of(say), now):
            raise Refused("too_fast", TOO_FAST)

    def _objection_to_private(self, peer: Peer, say: PostMessage) -> str:
        """Return why a private message can't be recorded; empty if it can."""
        if why := objection_to_private(self._state, peer.name, say.to):
            return why
        readers = 1 if say.to == peer.name else MOST_READERS
        if len(say.sealed) != readers or say.text or say.files or say.quotes:
            return "a private message is text, sealed for the two who may read it"
        return self._objection_to_boxes(say.sealed)

    def _objection_to_boxes(self, sealed: tuple[bytes, ...]) -> str:
        limit = self._limits.text_chars
        most = 4 * limit + PADDING + OVERHEAD  # bytes of a text
        too_long = any(len(box) > most for box in sealed)
        return f"a message has at most {limit:,} characters" if too_long else ""

    def _objection_to_agent(self, peer: Peer, now: float) -> str:
        """Return why an agent may not post now.

        It gets the reason, instead of trying again by itself.
        """
        if self._state.unprompted() >= AGENT_TURNS:
            return LOOPING
        seconds = self._quotas.agent_speaks(peer, now)
        return AGENT_TOO_FAST.format(math.ceil(seconds)) if seconds else ""

    def _code(self, message: int, name: str) -> Refusal:
        thread = self._state.threads.get(message)
        if thread is None:
            return "unknown_message"
        return "out_of_state" if thread.handler == name else "not_responsible"


def is_reaction(text: str) -> bool:
    """Whether a text can be a reaction: an emoji, since words beside a message could mislead."""
    return len(text) <= REACTION_CHARS and is_emoji(text)


def _changes_nothing(name: str, body: ChangeBody, thread: MessageThread) -> bool:
    match body:
        case ReactionChanged(reaction=reaction, on=on, answer=answer):
            reactions = thread.answer_reactions if answer else thread.reactions
            return on == (name in reactions.get(reaction, ()))
        case MessageEdited(text=text):
            return text == thread.text and not thread.is_private
        case MessageDeleted():
            return False


def _whole_change(body: ChangeBody) -> ChangeBody:
    body = msgspec.structs.replace(
        body, previous=body.previous[:PREVIOUS_BYTES], signature=body.signature[:SIGNATURE_BYTES]
    )
    match body:
        case MessageEdited(text=text):
            return msgspec.structs.replace(body, text=whole_text(text))
        case ReactionChanged(reaction=reaction):
            return msgspec.structs.replace(body, reaction=whole_text(reaction))
        case MessageDeleted():
            return body


def _is_id(text: str) -> bool:
    return 0 < len(text) <= ID_CHARS


def _quoted_chars(quotes: tuple[Quote, ...]) -> int:
    return sum(
        len(quote.room) + len(quote.title) + sum(map(_line_chars, quote.lines)) for quote in quotes
    )


def _line_chars(line: QuotedLine) -> int:
    return len(line.sender) + len(line.text) + 1


def _whole_quote(quote: Quote) -> Quote:
    lines = tuple(
        QuotedLine(
            whole_text(line.sender), whole_text(line.text), line.at if is_moment(line.at) else 0.0
        )
        for line in quote.lines
    )
    return Quote(whole_text(quote.room), whole_text(quote.title), lines)


class _Recent:
    """The client ids that each author used lately."""

    def __init__(self) -> None:
        self._ids: dict[str, OrderedDict[str, None]] = {}

    def add(self, author: str, id_: str) -> None:
        ids = self._ids.setdefault(author, OrderedDict())
        ids[id_] = None
        if len(ids) > REMEMBERED_IDS:
            ids.popitem(last=False)

    def __contains__(self, key: tuple[str, str]) -> bool:
        author, id_ = key
        return id_ in self._ids.get(author, ())
