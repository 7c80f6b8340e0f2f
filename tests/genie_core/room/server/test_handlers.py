import pytest
from msgspec.structs import replace
from tests.genie_core.room.bench import (
    ROOMY,
    Bench,
    answers_in,
    events_in,
    only_refusal,
    refusals,
)

from genie_core.room.protocol.events import (
    LATEST,
    MOST_REACTIONS,
    PREFERENCE_CHARS,
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    ChangeBody,
    DecisionMade,
    EngineChanged,
    FileRef,
    Measure,
    MemberLeft,
    MessageDeleted,
    MessageEdited,
    MessagePosted,
    PreferencesChanged,
    Quote,
    QuotedLine,
    ReactionChanged,
    RunFailed,
)
from genie_core.room.protocol.frames import (
    AgentProgress,
    AnswerApproval,
    AnswerDelta,
    ApprovalAnswered,
    ChangeMessage,
    ClientFrame,
    MemberTyping,
    Moderate,
    PostMessage,
    Publish,
    ReportDelta,
    ReportProgress,
    ServerFrame,
    SetEngine,
    SetPreferences,
    Stop,
    Stopping,
    Typing,
)
from genie_core.room.protocol.limits import Limits
from genie_core.room.server.handlers import PATH_CHARS
from genie_core.room.server.peers import Peer
from genie_core.room.state.thread import Reply

FILE = FileRef("a" * 64, "a.txt", 3, "text/plain")


def quote(text: str = "x", *, at: float = 1.0, title: str = "t") -> Quote:
    return Quote("r", title, (QuotedLine("zoe", text, at),))


class Desk(Bench):
    """A room where alice sits at two terminals, each with an engine, and bob at none."""

    def __init__(self, limits: Limits = ROOMY) -> None:
        super().__init__(limits=limits, files={FILE.digest: FILE})
        self.host = self.join_host()  # type: ignore[assignment]
        self.one = self.joined("alice", engine=True)
        self.two = self.joined("alice", engine=True, device="d2")
        self.bob = self.joined("bob")

    def question(self, peer: Peer, id_: str = "1") -> int:
        seq = self.say(peer, "do something", id_)
        for each in (self.one, self.two, self.bob):
            self.pull(each)
        return seq

    def waiting(self, peer: Peer) -> int:
        seq = self.question(peer)
        self.send(peer, Publish("d", DecisionMade(seq, "delegate", query="q")))
        self.send(peer, Publish("a", ApprovalRequested(seq, "a1", "agent", "rm", {"path": "x"})))
        return seq


@pytest.fixture
def desk() -> Desk:
    return Desk()


# -- changes of messages


def test_author_edits_and_deletes_message(desk: Desk) -> None:
    seq = desk.say(desk.bob, "teh plan", "1")
    desk.send(desk.bob, ChangeMessage(MessageEdited(seq, "the plan")))
    thread = desk.room.state.threads[seq]
    assert (thread.text, thread.said.text) == ("the plan", "teh plan")
    desk.send(desk.bob, ChangeMessage(MessageDeleted(seq)))
    assert (thread.text, thread.is_deleted) == ("", True)
    assert desk.room.state.amended == {seq: desk.room.state.head}
    refusal = only_refusal(desk.tell(desk.bob, ChangeMessage(MessageEdited(seq, "again"))))
    assert refusal.code == "not_allowed"


@pytest.mark.parametrize("change", [MessageEdited(0, "mine now"), MessageDeleted(0)])
def test_no_one_else_does(desk: Desk, change: ChangeBody) -> None:
    seq = desk.say(desk.bob, "hello", "1")
    for peer in (desk.two, desk.one):
        refusal = only_refusal(desk.tell(peer, ChangeMessage(replace(change, message=seq))))
        assert refusal.code == "not_allowed"
    assert desk.room.state.threads[seq].text == "hello"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (MessageEdited(999, "x"), "unknown_message"),
        (MessageEdited(0, " \n"), "not_allowed"),
        (MessageEdited(0, "x" * 101), "not_allowed"),
        (ReactionChanged(0, ""), "not_allowed"),
        (ReactionChanged(0, "x" * 17), "not_allowed"),
        (ReactionChanged(0, "a b"), "not_allowed"),
        (ReactionChanged(0, "\x1b[2J"), "not_allowed"),
        (ReactionChanged(0, "\u202e"), "not_allowed"),
        (ReactionChanged(0, "\u0301"), "not_allowed"),
        (ReactionChanged(0, "\u2800"), "not_allowed"),
        (ReactionChanged(0, "APPROVED-by-host"), "not_allowed"),
    ],
)
def test_what_can_not_be_is_refused(change: ChangeBody, code: str) -> None:
    desk = Desk(Limits(text_chars=100, burst=1000, joins=1000))
    seq = desk.say(desk.bob, "hello", "1")
    body = change if change.message else replace(change, message=seq)
    head = desk.room.state.head
    assert only_refusal(desk.tell(desk.bob, ChangeMessage(body))).code == code
    assert desk.room.state.head == head


def test_reactions_come_once_and_go(desk: Desk) -> None:
    seq = desk.say(desk.bob, "hello", "1")
    like = ReactionChanged(seq, "👍")
    desk.send(desk.one, ChangeMessage(like), ChangeMessage(like))
    desk.send(desk.bob, ChangeMessage(like))
    assert desk.room.state.threads[seq].reactions == {"👍": ["alice", "bob"]}
    desk.send(desk.one, ChangeMessage(replace(like, on=False)))
    desk.send(desk.bob, ChangeMessage(replace(like, on=False)))
    assert desk.room.state.threads[seq].reactions == {}
    assert len(desk.bodies(ReactionChanged)) == 4


def test_kinds_of_reactions_are_bounded(desk: Desk) -> None:
    seq = desk.say(desk.bob, "hello", "1")
    for number in range(MOST_REACTIONS):
        desk.send(desk.one, ChangeMessage(ReactionChanged(seq, chr(ord("🌀") + number))))
    refusal = only_refusal(desk.tell(desk.one, ChangeMessage(ReactionChanged(seq, "👍"))))
    assert refusal.code == "not_allowed"
    assert refusals(desk.tell(desk.bob, ChangeMessage(ReactionChanged(seq, "🌀")))) == []


def test_a_muted_member_changes_nothing(desk: Desk) -> None:
    seq = desk.say(desk.bob, "hello", "1")
    desk.send(desk.host, Moderate("mute", "bob"))  # type: ignore[arg-type] # a peer here
    refusal = only_refusal(desk.tell(desk.bob, ChangeMessage(MessageDeleted(seq))))
    assert refusal.code == "muted"


def test_a_reply_repeats_what_it_replies_to(desk: Desk) -> None:
    seq = desk.say(desk.one, "when?", "1")
    desk.send(desk.bob, PostMessage("2", "at noon", reply_to=seq))
    (said,) = [each for each in desk.room.state.threads.values() if each.author == "bob"]
    assert desk.room.state.reply_of(said) == Reply("alice", "when?")
    refusal = only_refusal(desk.tell(desk.bob, PostMessage("3", "so", reply_to=10_000)))
    assert (refusal.code, refusal.ref) == ("unknown_message", "3")


# -- quotes and files


def test_files_or_quotes_alone_suffice(desk: Desk) -> None:
    desk.send(
        desk.bob, PostMessage("1", "", files=(FILE,)), PostMessage("2", " ", quotes=(quote(),))
    )
    assert desk.bodies(MessagePosted) == [
        MessagePosted("1", "", "hana", files=(FILE,)),
        MessagePosted("2", " ", "hana", quotes=(quote(),)),
    ]


@pytest.mark.parametrize(
    "quotes",
    [
        (quote("x" * 101),),
        (quote("x", title="t" * 100),),
        (quote("x" * 60), quote("x" * 60)),
        (Quote("r" * 101, "", ()),),
        (Quote("", "", (QuotedLine("", ""),) * 101),),
    ],
)
def test_so_much_is_quoted_at_once_and_no_more(quotes: tuple[Quote, ...]) -> None:
    desk = Desk(Limits(quote_chars=100))
    refusal = only_refusal(desk.tell(desk.bob, PostMessage("1", "look", quotes=quotes)))
    assert (refusal.code, refusal.ref) == ("too_long", "1")
    assert refusals(desk.tell(desk.bob, PostMessage("1", "look", quotes=(quote("x" * 60),)))) == []


def test_files_per_message_are_limited() -> None:
    desk = Desk(Limits(files=2))
    assert (
        only_refusal(desk.tell(desk.bob, PostMessage("1", "x", files=(FILE,) * 3))).code
        == "too_long"
    )
    assert refusals(desk.tell(desk.bob, PostMessage("1", "x", files=(FILE,) * 2))) == []


def test_quotes_count_towards_volume() -> None:
    desk = Desk(Limits(volume=3000))
    say = PostMessage("1", "x", quotes=(quote("y" * 2900),))
    assert refusals(desk.tell(desk.bob, say)) == []
    assert only_refusal(desk.tell(desk.bob, PostMessage("2", "x"))).code == "too_fast"


@pytest.mark.parametrize("at", [-1.0, LATEST * 2, float("inf"), float("nan")])
def test_impossible_quote_time_is_cleared(desk: Desk, at: float) -> None:
    desk.send(desk.bob, PostMessage("1", "look", quotes=(quote("\ud800", at=at),)))
    assert desk.bodies(MessagePosted)[0].quotes == (quote("?", at=0.0),)


# -- several terminals of one person


def test_origin_terminal_answers_if_able(desk: Desk) -> None:
    plain = desk.joined("alice", device="d3")
    for n, peer in enumerate((desk.one, desk.two, plain)):
        desk.question(peer, str(n))
    assert [body.device for body in desk.bodies(MessagePosted)] == ["d1", "d2", "d1"]


def test_only_running_terminal_reports(desk: Desk) -> None:
    seq = desk.question(desk.one)
    verdict = Publish("1", DecisionMade(seq, "delegate", query="q"))
    refusal = only_refusal(desk.tell(desk.two, verdict))
    assert (refusal.code, refusal.ref) == ("out_of_state", "1")
    assert "another terminal" in refusal.text
    desk.pull(desk.bob)
    desk.send(desk.two, ReportDelta(seq, "not mine"))
    assert desk.pull(desk.bob) == []
    desk.send(desk.one, verdict, ReportDelta(seq, "mine"))
    assert answers_in(desk.pull(desk.bob)) == [AnswerDelta(seq, "mine")]


def test_other_terminal_replaces_lost_one(desk: Desk) -> None:
    seq = desk.question(desk.one)
    desk.lose(desk.one)
    assert refusals(desk.tell(desk.two, Publish("1", DecisionMade(seq, "ignore")))) == []


def test_typing_shows_at_other_terminal(desk: Desk) -> None:
    desk.pull(desk.two)
    desk.send(desk.one, Typing())
    assert desk.pull(desk.two) == [MemberTyping("alice")]


def test_engines_have_a_label_at_each_terminal(desk: Desk) -> None:
    desk.send(desk.two, SetEngine("big model"))
    assert desk.bodies(EngineChanged) == [EngineChanged("big model", "d2")]
    terminals = desk.room.state.people["alice"].terminals
    assert [terminal.agent for terminal in terminals.values()] == ["", "big model"]


def test_a_run_is_stopped_where_it_is(desk: Desk) -> None:
    seq = desk.question(desk.two)
    desk.send(desk.one, Stop(seq))
    assert desk.pull(desk.one) == []
    assert desk.pull(desk.two) == [Stopping(seq, "alice")]


def test_moved_run_is_stopped_there(desk: Desk) -> None:
    seq = desk.question(desk.two)
    desk.lose(desk.two)
    desk.pull(desk.one)
    desk.send(desk.one, Stop(seq))
    assert desk.pull(desk.one) == [Stopping(seq, "alice")]


# -- answering at another terminal


def test_approval_is_answered_elsewhere(desk: Desk) -> None:
    seq = desk.waiting(desk.one)
    desk.pull(desk.one)
    desk.send(
        desk.two,
        AnswerApproval("a1", allow=False, reason="no", scope="session", arguments={"y": 1}),
    )
    ruled = ApprovalAnswered("a1", allow=False, reason="no", scope="session", arguments={"y": 1})
    assert desk.pull(desk.one) == [ruled]
    desk.send(desk.one, Publish("s", ApprovalResolved(seq, "a1", "denied")))
    assert [event.body for event in events_in(desk.pull(desk.two))][-1:] == [
        ApprovalResolved(seq, "a1", "denied")
    ]
    assert (
        only_refusal(desk.tell(desk.two, AnswerApproval("a1", allow=True))).code == "out_of_state"
    )


def test_approval_is_refused_to_others(desk: Desk) -> None:
    desk.waiting(desk.one)
    desk.pull(desk.one)
    for peer in (desk.bob, desk.one):
        assert (
            only_refusal(desk.tell(peer, AnswerApproval("a1", allow=True))).code == "out_of_state"
        )
    assert (
        only_refusal(desk.tell(desk.two, AnswerApproval("unknown", allow=True))).code
        == "out_of_state"
    )
    assert desk.pull(desk.one) == []


def test_lost_terminal_refuses_approval(desk: Desk) -> None:
    desk.waiting(desk.one)
    desk.lose(desk.one)
    assert (
        only_refusal(desk.tell(desk.two, AnswerApproval("a1", allow=True))).code == "out_of_state"
    )


def test_answers_at_another_terminal_have_a_pace() -> None:
    desk = Desk(Limits(burst=1, per_second=0.1))
    desk.waiting(desk.one)
    rules = [AnswerApproval("a1", allow=True)] * 30
    assert {each.code for each in refusals(desk.tell(desk.two, *rules))} == {"too_fast"}


def test_answers_come_in_the_end(desk: Desk) -> None:
    seq = desk.question(desk.one)
    desk.send(desk.one, Publish("d", DecisionMade(seq, "delegate", query="q")))
    desk.send(desk.one, Publish("e", AnswerPosted(seq, "done")))
    assert desk.bodies()[-1] == AnswerPosted(seq, "done")


# -- what agents are at, and how people like to be answered


def test_progress_needs_running_terminal(desk: Desk) -> None:
    seq = desk.question(desk.one)
    for peer in (desk.two, desk.bob, desk.host):
        desk.send(peer, ReportProgress(seq, "x", "thinking"))  # type: ignore[arg-type] # the host's id
    assert all(not isinstance(each, AgentProgress) for each in desk.pull(desk.bob))
    desk.send(desk.one, ReportProgress(seq, "system", "calling", "rm"))
    assert AgentProgress(seq, "system", "calling", "rm") in desk.pull(desk.bob)
    desk.send(desk.one, ReportProgress(seq, "s" * 1000, "calling", "\ud800" + "d" * 1000))
    (shown,) = [each for each in desk.pull(desk.bob) if isinstance(each, AgentProgress)]
    assert (len(shown.agent), len(shown.detail)) == (PATH_CHARS, PATH_CHARS)
    assert "\ud800" not in shown.detail
    desk.send(desk.one, Publish("d", DecisionMade(seq, "ignore")))
    desk.pull(desk.bob)
    desk.send(
        desk.one,
        ReportProgress(seq, "system", "thinking"),
        ReportProgress(99, "system", "thinking"),
    )
    assert answers_in(desk.pull(desk.bob)) == []


def test_changed_preferences_are_recorded(desk: Desk) -> None:
    desk.send(desk.bob, SetPreferences("short answers"), SetPreferences("short answers"))
    assert desk.bodies(PreferencesChanged) == [PreferencesChanged("short answers")]
    assert desk.room.state.preferences["bob"] == "short answers"
    desk.send(desk.bob, SetPreferences(""))
    assert desk.bodies(PreferencesChanged)[-1] == PreferencesChanged("")
    assert not desk.room.state.preferences.get("bob")
    desk.send(desk.bob, SetPreferences("x" * PREFERENCE_CHARS))
    refusal = only_refusal(desk.tell(desk.bob, SetPreferences("x" * (PREFERENCE_CHARS + 1))))
    assert refusal.code == "too_long"
    assert len(desk.bodies(PreferencesChanged)) == 3


def test_preferences_count_towards_volume() -> None:
    desk = Desk(Limits(volume=3000))
    for letter in "xy":
        assert refusals(desk.tell(desk.bob, SetPreferences(letter * 1900))) == []
    assert only_refusal(desk.tell(desk.bob, SetPreferences("z" * 1900))).code == "too_fast"


def test_remote_answer_keeps_count_stop(desk: Desk) -> None:
    desk.waiting(desk.one)
    rule = AnswerApproval("a1", allow=True, scope="times", count=5)
    desk.pull(desk.one)
    desk.send(desk.two, rule, AnswerApproval("a1", allow=False, stop=True))
    first, second = [each for each in desk.pull(desk.one) if isinstance(each, ApprovalAnswered)]
    assert (first.scope, first.count, first.stop) == ("times", 5, False)
    assert (second.allow, second.stop) == (False, True)


@pytest.mark.parametrize("kind", ["say", "publish", "delta", "progress", "equip", "prefer"])
def test_repeated_noops_drop_member(kind: str) -> None:
    desk = Desk(Limits())
    number = desk.say(desk.one, "hello")
    desk.send(desk.one, Publish("p", DecisionMade(number, "ignore")))
    frames: dict[str, ClientFrame] = {
        "say": PostMessage("1", "x" * 10_000),
        "publish": Publish(
            "p", ApprovalRequested(number, "a", "agent", "tool", {"a": "x" * 10_000})
        ),
        "delta": ReportDelta(number, "x"),
        "progress": ReportProgress(number, "agent", "note", "x"),
        "equip": SetEngine(""),
        "prefer": SetPreferences(""),
    }
    answers: list[ServerFrame] = []
    repeats = 0
    while not answers:
        repeats += 1
        desk.room.quotas.read(desk.one, 250_000, desk.now)
        answers = desk.tell(desk.one, frames[kind])
    assert 4 < repeats < 20
    (refusal,) = refusals(answers)
    assert (refusal.code, refusal.final) == ("too_fast", False)
    assert "keep sending" in refusal.text
    assert desk.one.done
    assert not desk.room.quotas.read(desk.one, 1, desk.now)  # not even decoded
    desk.lose(desk.one)
    assert desk.bodies(MemberLeft)[-1].reason == "sent too much"
    _, answers = desk.meet("alice", engine=True)
    assert "come back in 2 s" in only_refusal(answers).text
    desk.say(desk.bob, "the others go on", "b1")
    assert desk.bodies(MessagePosted)[-1].text == "the others go on"
    desk.now += 3
    desk.joined("alice", engine=True)


@pytest.mark.parametrize("text", ["\u200b\u200d", "\u2060 \ufeff", "\u0301", "\u3164"])
def test_invisible_message_is_refused(desk: Desk, text: str) -> None:
    refusal = only_refusal(desk.tell(desk.bob, PostMessage("1", text)))
    assert (refusal.code, refusal.text) == ("malformed", "a message without text")
    number = desk.say(desk.one, "hello")
    refusal = only_refusal(desk.tell(desk.one, Publish("1", AnswerPosted(number, text))))
    assert refusal.text == "the answer is blank"


# -- silenced


@pytest.mark.parametrize(("how", "code"), [("mute", "muted"), ("role", "not_allowed")])
def test_muted_engine_reopens_no_run(how: Measure, code: str) -> None:
    desk = Desk()
    ended, open_ = desk.question(desk.one), desk.question(desk.one, "2")
    desk.send(desk.one, Publish("1", DecisionMade(ended, "ignore")))
    desk.send(desk.host, Moderate(how, "alice", "observer" if how == "role" else None))  # type: ignore[arg-type]
    again: list[ClientFrame] = [
        Publish("2", DecisionMade(ended, "delegate", "READ THIS", "READ THIS")),
        Publish("3", AnswerPosted(ended, "READ THIS")),
    ]
    assert [each.code for each in refusals(desk.tell(desk.one, *again))] == [code, "out_of_state"]
    rest: list[ClientFrame] = [
        Publish("4", DecisionMade(open_, "delegate", query="q")),
        Publish("5", ApprovalRequested(open_, "a1", "agent", "rm", {})),
        Publish("6", ApprovalResolved(open_, "a1", "denied")),
        Publish("7", AnswerPosted(open_, "done")),
    ]
    assert refusals(desk.tell(desk.one, *rest)) == []
    assert (
        only_refusal(
            desk.tell(desk.one, Publish("8", DecisionMade(open_, "delegate", query="q")))
        ).code
        == code
    )
    assert "READ THIS" not in repr(desk.written)
    assert not desk.room.state.running


def test_muted_member_settles_no_call(desk: Desk) -> None:
    seq = desk.waiting(desk.one)
    parked = [
        Publish("1", ApprovalResolved(seq, "a1", "parked")),
        Publish("2", RunFailed(seq, "lost", "left")),
    ]
    assert refusals(desk.tell(desk.one, *parked)) == []
    allowed = Publish("3", ApprovalResolved(seq, "a1", "approved", "READ THIS"))
    desk.send(desk.host, Moderate("mute", "alice"))  # type: ignore[arg-type]
    assert only_refusal(desk.tell(desk.one, allowed)).code == "muted"
    desk.send(desk.host, Moderate("unmute", "alice"))  # type: ignore[arg-type]
    again = Publish("4", DecisionMade(seq, "delegate", query="q"))
    assert refusals(desk.tell(desk.one, allowed, again)) == []  # which goes on from there
    assert desk.room.state.running
