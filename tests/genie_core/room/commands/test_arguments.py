import pytest

from genie_core.room.commands.arguments import (
    BudgetRaise,
    InvalidArguments,
    InviteOptions,
    ModerationRequest,
    QuoteRequest,
    SaveRequest,
    read_backlog,
    read_budget,
    read_invite,
    read_measure,
    read_model,
    read_name,
    read_optional_name,
    read_paths,
    read_phrase,
    read_quote,
    read_reasoned,
    read_role,
    read_save,
    read_switch,
)


@pytest.mark.parametrize(
    ("rest", "order"),
    [
        ("", InviteOptions()),
        ("--new", InviteOptions(new=True)),
        ("--once --for 30m", InviteOptions(once=True, lifetime=1800.0)),
        ("--for 2h", InviteOptions(lifetime=7200.0)),
        ("--as Host", InviteOptions(once=True, role="host")),
        ("--for 7d --new", InviteOptions(new=True, lifetime=604800.0)),
    ],
)
def test_an_invite_is_shown_or_made_anew(rest: str, order: InviteOptions) -> None:
    assert read_invite(rest) == order
    assert order.makes_one == bool(rest)


@pytest.mark.parametrize("rest", ["--for", "--for 0h", "--for soon", "--for 1.5h", "new"])
def test_an_invite_that_makes_no_sense(rest: str) -> None:
    with pytest.raises(InvalidArguments):
        read_invite(rest)


def test_a_role_is_one_of_four() -> None:
    assert read_role("@bob Guest") == ModerationRequest("role", "bob", "guest")
    assert read_role("bob host") == ModerationRequest("role", "bob", "host")
    for rest in ("bob", "bob owner", "bob guest please", ""):
        with pytest.raises(InvalidArguments):
            read_role(rest)


def test_a_measure_takes_one_name() -> None:
    assert read_measure("mute", "bob") == ModerationRequest("mute", "bob")
    for rest in ("", "@", "bob carol"):
        with pytest.raises(InvalidArguments):
            read_measure("mute", rest)


def test_sharing_is_on_or_off() -> None:
    assert read_switch("ON")
    assert not read_switch("off")
    with pytest.raises(InvalidArguments):
        read_switch("")


def test_backlog_has_three_answers() -> None:
    assert read_backlog("Latest") == "latest"
    with pytest.raises(InvalidArguments):
        read_backlog("some")


def test_name_may_have_at_sign_or_be_empty() -> None:
    assert read_name("@bob") == "bob"
    assert read_optional_name("") == ""
    assert read_optional_name("bob") == "bob"
    for rest in ("bob and others", "@"):
        with pytest.raises(InvalidArguments):
            read_optional_name(rest)


def test_a_reason_may_follow_a_name() -> None:
    assert read_reasoned("kick", "bob too loud") == ModerationRequest(
        "kick", "bob", reason="too loud"
    )
    with pytest.raises(InvalidArguments):
        read_reasoned("kick", "")


def test_a_model_has_one_name() -> None:
    assert read_model("openai:big") == "openai:big"
    with pytest.raises(InvalidArguments):
        read_model("openai: big")


def test_attach_keeps_the_text_as_it_was_typed() -> None:
    assert read_paths("'my file.pdf'") == "'my file.pdf'"
    with pytest.raises(InvalidArguments):
        read_paths("")


def test_file_name_may_have_spaces() -> None:
    assert read_phrase("my file.pdf") == "my file.pdf"
    assert read_phrase("'my file.pdf'") == "my file.pdf"
    assert read_phrase("bob's.pdf") == "bob's.pdf"


@pytest.mark.parametrize(
    ("rest", "order"),
    [
        ("", SaveRequest()),
        ("2", SaveRequest("2")),
        ("report.pdf", SaveRequest("report.pdf")),
        ("report.pdf ~/papers", SaveRequest("report.pdf", "~/papers")),
        ("'my report.pdf' 'my papers'", SaveRequest("my report.pdf", "my papers")),
        ("~/papers", SaveRequest(to="~/papers")),
        (".", SaveRequest(to=".")),
        ("/tmp/", SaveRequest(to="/tmp/")),
    ],
)
def test_save_tells_files_from_folders(rest: str, order: SaveRequest) -> None:
    assert read_save(rest) == order


def test_save_with_too_many_words_is_a_mistake() -> None:
    with pytest.raises(InvalidArguments, match="quotes"):
        read_save("my report.pdf here")


def test_a_thread_is_a_room_and_a_number() -> None:
    assert read_quote("garden") == QuoteRequest("garden")
    assert read_quote("the last garden last 7") == QuoteRequest("the last garden", 7)
    assert read_quote("'the garden' last 200") == QuoteRequest("the garden", 200)
    for rest in ("", "garden last 0", "garden last 201"):
        with pytest.raises(InvalidArguments):
            read_quote(rest)


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("", BudgetRaise()),
        ("+5", BudgetRaise(money=5.0)),
        ("+$2.50", BudgetRaise(money=2.5)),
        ("+100k", BudgetRaise(tokens=100_000)),
        ("+1.5M", BudgetRaise(tokens=1_500_000)),
        ("+2500 tokens", BudgetRaise(tokens=2500)),
    ],
)
def test_a_budget_is_raised_in_dollars_or_tokens(text: str, order: BudgetRaise) -> None:
    assert read_budget(text) == order


@pytest.mark.parametrize("text", ["5", "-5", "+0", "+x", "+5 dollars", "+$5k", "+99999", "+nan"])
def test_a_budget_is_raised_by_nothing_else(text: str) -> None:
    with pytest.raises(InvalidArguments):
        read_budget(text)
