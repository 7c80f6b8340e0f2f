from genie_tui.widgets.composer.composer import KEPT, History


def test_walk_reaches_oldest_and_returns() -> None:
    history = History()
    history.add("one")
    history.add("two")
    assert history.older("draft") == "two"
    assert history.older("two") == "one"
    assert history.older("one") is None
    assert history.newer("one") == "two"
    assert history.newer("two") == "draft"
    assert history.newer("draft") is None


def test_edit_lasts_until_next_message() -> None:
    history = History()
    history.add("one")
    history.older("")
    assert history.newer("one, changed") == ""
    assert history.older("") == "one, changed"
    history.add("two")
    assert history.older("") == "two"
    assert history.older("two") == "one"


def test_repeated_message_is_stored_once() -> None:
    history = History()
    history.add("one")
    history.add("one")
    assert history.older("") == "one"
    assert history.older("one") is None


def test_nothing_was_sent_yet() -> None:
    history = History()
    assert history.older("draft") is None
    assert history.newer("draft") is None


def test_returned_text_comes_first() -> None:
    history = History()
    history.add("one")
    history.keep("came back")
    assert history.older("draft") == "came back"
    history.keep("and this")  # in the middle of a walk
    assert history.older("came back, changed") == "one"
    assert history.newer("one") == "came back, changed"
    assert history.newer("came back, changed") == "and this"
    assert history.newer("and this") == "draft"


def test_returned_message_is_stored_once() -> None:
    history = History()
    history.add("one")
    history.keep("one")
    assert history.older("") == "one"
    assert history.older("one") is None


def test_there_is_an_end_to_what_is_kept() -> None:
    history = History()
    for number in range(KEPT):
        history.add(str(number))
    assert history.older("draft") == str(KEPT - 1)
    history.keep("came back")
    assert history.newer("changed") == "came back"
    assert history.newer("came back") == "draft"
    walk = ["draft"]
    while (older := history.older(walk[-1])) is not None:
        walk.append(older)
    assert walk[1:4] == ["came back", "changed", str(KEPT - 2)]
    assert (len(walk) - 1, walk[-1]) == (KEPT, "1")
