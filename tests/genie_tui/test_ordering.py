import pytest

from genie_tui.order import (
    Attach,
    Detach,
    Host,
    Invite,
    Moderation,
    Open,
    Prefs,
    RaiseBudget,
    Save,
    Share,
    Thread,
    Who,
)
from genie_tui.ordering import (
    Misuse,
    read_attach,
    read_budget,
    read_cost,
    read_detach,
    read_host,
    read_invite,
    read_measure,
    read_open,
    read_prefs,
    read_role,
    read_save,
    read_share,
    read_thread,
    read_who,
)


@pytest.mark.parametrize(
    ("rest", "order"),
    [
        ("", Invite()),
        ("--new", Invite(new=True)),
        ("--once --for 30m", Invite(once=True, lifetime=1800.0)),
        ("--for 2h", Invite(lifetime=7200.0)),
        ("--for 7d --new", Invite(new=True, lifetime=604800.0)),
    ],
)
def test_an_invite_is_shown_or_made_anew(rest: str, order: Invite) -> None:
    assert read_invite(rest) == order
    assert order.makes_one == bool(rest)


@pytest.mark.parametrize("rest", ["--for", "--for 0h", "--for soon", "--for 1.5h", "new"])
def test_an_invite_that_makes_no_sense(rest: str) -> None:
    with pytest.raises(Misuse):
        read_invite(rest)


def test_a_role_is_one_of_three() -> None:
    assert read_role("@bob Guest") == Moderation("role", "bob", "guest")
    for rest in ("bob", "bob host", "bob guest please", ""):
        with pytest.raises(Misuse):
            read_role(rest)


def test_a_measure_takes_one_name() -> None:
    assert read_measure("mute", "bob") == Moderation("mute", "bob")
    for rest in ("", "@", "bob carol"):
        with pytest.raises(Misuse):
            read_measure("mute", rest)


def test_sharing_is_on_or_off() -> None:
    assert read_share("ON") == Share(on=True)
    assert read_share("off") == Share(on=False)
    with pytest.raises(Misuse):
        read_share("")


def test_host_and_who_need_no_name() -> None:
    assert read_host("") == Host()
    assert read_host("bob") == Host("bob")
    assert read_who("") == Who()
    assert read_who("@bob") == Who("bob")


def test_attach_keeps_the_text_as_it_was_typed() -> None:
    assert read_attach("'my file.pdf'") == Attach("'my file.pdf'")
    with pytest.raises(Misuse):
        read_attach("")


def test_names_of_files_may_have_spaces_and_quotes() -> None:
    assert read_detach("my file.pdf") == Detach("my file.pdf")
    assert read_open("'my file.pdf'") == Open("my file.pdf")
    assert read_open("bob's.pdf") == Open("bob's.pdf")


@pytest.mark.parametrize(
    ("rest", "order"),
    [
        ("", Save()),
        ("2", Save("2")),
        ("report.pdf", Save("report.pdf")),
        ("report.pdf ~/papers", Save("report.pdf", "~/papers")),
        ("'my report.pdf' 'my papers'", Save("my report.pdf", "my papers")),
        ("~/papers", Save(to="~/papers")),
        (".", Save(to=".")),
        ("/tmp/", Save(to="/tmp/")),
    ],
)
def test_save_tells_files_from_folders(rest: str, order: Save) -> None:
    assert read_save(rest) == order


def test_save_with_too_many_words_is_a_mistake() -> None:
    with pytest.raises(Misuse, match="quotes"):
        read_save("my report.pdf here")


def test_a_thread_is_a_room_and_a_number() -> None:
    assert read_thread("garden") == Thread("garden")
    assert read_thread("the last garden last 7") == Thread("the last garden", 7)
    assert read_thread("'the garden' last 200") == Thread("the garden", 200)
    for rest in ("", "garden last 0", "garden last 201"):
        with pytest.raises(Misuse):
            read_thread(rest)


def test_preferences_are_ones_own_or_somebodys() -> None:
    assert read_prefs("") == Prefs()
    assert read_prefs("@bob") == Prefs("bob")
    with pytest.raises(Misuse):
        read_prefs("bob and others")


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("", RaiseBudget()),
        ("+5", RaiseBudget(money=5.0)),
        ("+$2.50", RaiseBudget(money=2.5)),
        ("+100k", RaiseBudget(tokens=100_000)),
        ("+1.5M", RaiseBudget(tokens=1_500_000)),
        ("+2500 tokens", RaiseBudget(tokens=2500)),
    ],
)
def test_a_budget_is_raised_in_dollars_or_tokens(text: str, order: RaiseBudget) -> None:
    assert read_budget(text) == order


@pytest.mark.parametrize("text", ["5", "-5", "+0", "+x", "+5 dollars", "+$5k", "+99999", "+nan"])
def test_a_budget_is_raised_by_nothing_else(text: str) -> None:
    with pytest.raises(Misuse):
        read_budget(text)
    with pytest.raises(Misuse):
        read_cost("all")
