from genie_tui.widgets.history import History


def test_the_walk_goes_back_to_the_oldest_and_returns_to_the_draft() -> None:
    history = History()
    history.add("one")
    history.add("two")
    assert history.older("draft") == "two"
    assert history.older("two") == "one"
    assert history.older("one") is None
    assert history.newer("one") == "two"
    assert history.newer("two") == "draft"
    assert history.newer("draft") is None


def test_an_edit_on_the_way_is_kept_until_the_next_message() -> None:
    history = History()
    history.add("one")
    history.older("")
    assert history.newer("one, changed") == ""
    assert history.older("") == "one, changed"
    history.add("two")
    assert history.older("") == "two"
    assert history.older("two") == "one"


def test_sending_the_same_twice_is_remembered_once() -> None:
    history = History()
    history.add("one")
    history.add("one")
    assert history.older("") == "one"
    assert history.older("one") is None


def test_nothing_was_sent_yet() -> None:
    history = History()
    assert history.older("draft") is None
    assert history.newer("draft") is None
