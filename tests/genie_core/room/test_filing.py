from genie_core.room.event import FileRef
from genie_core.room.filing import MAX_ERRANDS, FileFrame, Filing
from genie_core.room.frame import Chunk, Fetch, Piece, Refused, Store, Stored
from genie_core.room.limits import Limits
from genie_core.room.peer import Peer
from genie_core.room.roster import Roster

DIGEST, OTHER = "a" * 64, "b" * 64
LIMITS = Limits(file_bytes=1000)
FILE = FileRef(DIGEST, "a", 100, "text/plain")


def office() -> tuple[Filing, Peer]:
    roster = Roster(LIMITS)
    peer = roster.admit("here")
    peer.name = "alice"
    return Filing(roster, LIMITS, {DIGEST: FILE}), peer


def refusals(peer: Peer) -> list[str]:
    return [reply.code for reply in peer.take_replies() if isinstance(reply, Refused)]


def test_a_wish_becomes_an_errand_and_its_answer_a_reply() -> None:
    filing, peer = office()
    filing.ask(peer, Fetch(DIGEST, 0))
    (errand,) = filing.errands()
    assert (errand.peer, errand.name, errand.frame) == (peer.id, "alice", Fetch(DIGEST, 0))
    assert filing.errands() == []
    filing.answer(errand, Piece(DIGEST, 0, b"x", 100))
    assert peer.take_replies() == [Piece(DIGEST, 0, b"x", 100)]


def test_what_is_there_need_not_be_sent() -> None:
    filing, peer = office()
    filing.ask(peer, Store(DIGEST, 100))
    assert peer.take_replies() == [Stored(DIGEST, 100)]
    assert filing.errands() == []


def test_what_is_not_in_order_is_refused_at_once() -> None:
    filing, peer = office()
    cases: list[tuple[FileFrame, str]] = [
        (Store("../../etc/passwd", 5), "malformed"),
        (Store(OTHER, 0), "too_large"),
        (Store(OTHER, 1001), "too_large"),
        (Fetch(OTHER, 0), "unknown_file"),
        (Fetch(DIGEST, -1), "unknown_file"),
    ]
    for frame, code in cases:
        filing.ask(peer, frame)
        assert refusals(peer) == [code]
    assert filing.errands() == []


def test_one_peer_asks_only_so_much_at_once() -> None:
    filing, peer = office()
    for _ in range(MAX_ERRANDS + 1):
        filing.ask(peer, Chunk(OTHER, 0, b"x"))
    assert refusals(peer) == ["too_fast"]
    errands = filing.errands()
    filing.answer(errands[0], Stored(OTHER, 1))
    filing.ask(peer, Chunk(OTHER, 1, b"x"))
    assert len(filing.errands()) == 1


def test_who_does_not_read_gets_no_more_pieces() -> None:
    filing, peer = office()
    for _ in range(MAX_ERRANDS + 3):
        filing.ask(peer, Fetch(DIGEST, 0))
        for errand in filing.errands():
            filing.answer(errand, Piece(DIGEST, 0, b"x" * 100, 100))
    assert sum(isinstance(reply, Piece) for reply in peer.replies) == MAX_ERRANDS
    assert refusals(peer) == ["too_fast"] * 3
    filing.ask(peer, Fetch(DIGEST, 0))
    assert len(filing.errands()) == 1


def test_a_message_names_files_by_what_arrived_not_by_what_its_author_says() -> None:
    filing, _ = office()
    claimed = FileRef(DIGEST, "b.txt", 5, "image/png")
    assert filing.as_stored((claimed,)) == (FileRef(DIGEST, "b.txt", 100, "text/plain"),)
    assert filing.as_stored((claimed, FileRef(OTHER, "c", 1))) == OTHER
    filing.add(FileRef(OTHER, "", 7, "audio/ogg"))
    assert filing.as_stored((FileRef(OTHER, "c", 1),)) == (FileRef(OTHER, "c", 7, "audio/ogg"),)


def test_of_a_peer_that_is_gone_nothing_is_left_to_do() -> None:
    filing, peer = office()
    filing.ask(peer, Fetch(DIGEST, 0))
    filing.forget(peer)
    assert filing.errands() == []
