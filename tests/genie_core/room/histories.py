"""Any history that a room may have, for properties: every event is one that its state allows."""

from random import Random
from typing import Final

from hypothesis import strategies as st
from msgspec.structs import replace

from genie_core.room.protocol.events import (
    AnswerPosted,
    AnyBody,
    ApprovalRequested,
    ApprovalResolved,
    ArgumentSharingChanged,
    DecisionMade,
    EngineChanged,
    Event,
    FileRef,
    HostStarted,
    Measure,
    MemberJoined,
    MemberLeft,
    MemberModerated,
    MessageDeleted,
    MessageEdited,
    MessagePosted,
    Outcome,
    PreferencesChanged,
    ReactionChanged,
    RecoveredEvent,
    Role,
    RoomCreated,
    RoomSuspended,
    RunBody,
    RunCancelled,
    RunFailed,
    Spending,
    UnreadableEvent,
)
from genie_core.room.security.sealing import without_content
from genie_core.room.state.room_state import RoomState

PEOPLE: Final = ("ann", "bob", "cleo", "Zoë")
DEVICES: Final = ("", "d1", "d2")
OUTCOMES: Final[tuple[Outcome, ...]] = ("approved", "denied", "expired", "parked")
ROLES: Final[tuple[Role, ...]] = ("member", "guest", "observer")
BOXES: Final = (b"of the author", b"of the reader")
MEASURES: Final[tuple[Measure, ...]] = ("kick", "ban", "pardon", "mute", "unmute", "role", "free")


def histories(most: int = 80) -> st.SearchStrategy[list[Event]]:
    """All events of a room, from the first; damage and times that go backwards included."""
    return st.builds(history, st.integers(0, 2**32), st.integers(2, most))


def history(seed: int, length: int) -> list[Event]:
    """The history that a number stands for."""
    chance, state, events = Random(seed), RoomState(), list[Event]()
    soundness = chance.choice((0.0, 0.05))
    bodies: list[tuple[str, AnyBody]] = [
        ("", RoomCreated("r", "Garden")),
        ("", HostStarted("ann", key="a")),
    ]
    while len(events) < length:
        if not bodies:
            lost = chance.random() < soundness
            bodies.append(("", UnreadableEvent("lost")) if lost else _next(chance, state))
        by, body = bodies.pop(0)
        event = Event(state.head + 1, 1e9 + chance.randint(-100, 100), by, body)
        state.apply(event)
        events.append(event)
    return events


def _next(chance: Random, state: RoomState) -> tuple[str, AnyBody]:
    kind = chance.random()
    if kind < 0.5 and (step := _step(chance, state)):
        return step
    if kind < 0.8:
        return chance.choice(PEOPLE), _said(chance)
    return _rest(chance, state)


def _said(chance: Random) -> MessagePosted:
    files = [
        FileRef(chance.choice("0ab") * 64, chance.choice(("a", "b")), chance.randint(1, 9))
        for _ in range(chance.choice((0, 0, 0, 1, 2)))
    ]
    handler, device = chance.choice(("", *PEOPLE)), chance.choice(DEVICES)
    id_ = str(chance.randint(0, 30))
    if chance.random() < 0.1:
        to = chance.choice(PEOPLE)
        return MessagePosted(id_, "", handler, device=device, to=to, sealed=BOXES)
    return MessagePosted(
        id_,
        f"text {id_}",
        handler,
        chance.random() < 0.1,
        device,
        tuple(files),
        reply_to=chance.choice((0, 0, 1, chance.randint(0, 90))),
    )


def _step(chance: Random, state: RoomState) -> tuple[str, RunBody] | None:
    """Something that is in order for one of the messages, if there is anything."""
    seqs = list(state.threads)
    chance.shuffle(seqs)
    for seq in seqs[:5]:
        bodies = _bodies(chance, seq, state)
        chance.shuffle(bodies)
        for body in bodies:
            if state.threads[seq].is_private:
                body = replace(without_content(body), sealed=BOXES[:1])
            by = state.threads[seq].handler
            if by and state.objection(body, by, state.threads[seq].device) is None:
                return by, body
    return None


def _bodies(chance: Random, seq: int, state: RoomState) -> list[RunBody]:
    spent = _spent(chance)
    return [
        DecisionMade(seq, "ignore", "not for me", spent=spent),
        DecisionMade(seq, "delegate", "a question", "what?", chance.choice(PEOPLE), spent=spent),
        ApprovalRequested(
            seq, f"{seq}-{state.head}", "genie", "shell", {"cmd": seq}, unasked=seq % 5 == 0
        ),
        AnswerPosted(seq, "so it is", spent=spent),
        RunFailed(seq, "agent", "broken", spent),
        RunCancelled(seq, "enough", spent),
        *(
            ApprovalResolved(
                seq, approval, chance.choice(OUTCOMES), "because", arguments={"cmd": "other"}
            )
            for approval in state.threads[seq].calls
        ),
    ]


def _spent(chance: Random) -> tuple[Spending, ...]:
    return tuple(
        Spending(
            chance.choice(("genie", "genie/coder", "reasoner")),
            chance.choice(("small", "large")),
            requests=1,
            input_tokens=chance.randint(0, 999),
            cost=chance.choice((None, 0.0, 0.25)),
        )
        for _ in range(chance.choice((0, 1, 2)))
    )


def _rest(chance: Random, state: RoomState) -> tuple[str, AnyBody]:
    """Whatever is no message and no work on one."""
    name, other = chance.choice(PEOPLE), chance.choice(PEOPLE)
    seq, device = chance.randint(1, state.head), chance.choice(DEVICES)
    role, measure = chance.choice(ROLES), chance.choice(MEASURES)
    change: AnyBody = chance.choice(
        (
            MessageEdited(seq, "other words"),
            MessageDeleted(seq),
            ReactionChanged(seq, chance.choice("ab"), chance.random() < 0.7, seq % 2 == 0),
        )
    )
    recovered: AnyBody = chance.choice(
        (_said(chance), AnswerPosted(seq, "once"), MemberModerated("ban", other), change)
    )
    choices: tuple[tuple[str, AnyBody], ...] = (
        (
            name,
            MemberJoined(role, chance.random() < 0.5, "model", f"key of {name}", device, "short"),
        ),
        (name, MemberJoined("member", engine=True, device=device)),
        ("", MemberLeft(name, device=chance.choice(DEVICES))),
        (name, EngineChanged("another", device)),
        (name, change),
        (name, PreferencesChanged(chance.choice(("", "long")))),
        ("", RoomSuspended(heir=chance.choice(("", *PEOPLE)))),
        (
            "",
            HostStarted(name, title=chance.choice(("", "Orchard")), key=f"key of {name}", pin="p"),
        ),
        (name, MemberModerated(measure, other, role)),
        (name, ArgumentSharingChanged(chance.random() < 0.5)),
        (name, RecoveredEvent(Event(seq, 1e9, other, recovered))),
    )
    return chance.choice(choices)
