import pytest

from genie_tui.widgets.composer.completion import Completions, Words, offer

ROOM = Completions(("ann", "bob", "Hannah"), (("help", "keys"), ("who", "people"), ("me", "do")))


@pytest.mark.parametrize(
    ("before", "texts"),
    [
        ("@", ["@ann", "@bob", "@Hannah"]),
        ("hi @an", ["@ann", "@Hannah"]),
        ("(@BO", ["@bob"]),
        ("line\n@b", ["@bob"]),
        ("/", ["/help", "/who", "/me"]),
        ("/h", ["/help"]),
        ("/ho", ["/who"]),
    ],
)
def test_what_is_offered(before: str, texts: list[str]) -> None:
    found = offer(before, ROOM)
    assert found is not None
    assert [choice.text for choice in found.choices] == texts
    assert before.endswith(found.typed)


@pytest.mark.parametrize(
    "before", ["", "ann", "mail@an", "@zed", "@ann ", "say /h", "\n/h", "/help me", "//"]
)
def test_where_nothing_is_offered(before: str) -> None:
    assert offer(before, ROOM) is None


@pytest.mark.parametrize(
    ("before", "texts"),
    [
        ("@genie /", ["/review", "/undo"]),
        ("genie, /re", ["/review"]),
        ("@Genie\n/un", ["/undo"]),
        ("tell @genie /re", []),
        ("@genie /review the", []),
        ("@genius /re", []),
    ],
)
def test_agent_commands_follow_its_name(before: str, texts: list[str]) -> None:
    agents = (("review", "Review the changes"), ("undo", ""))
    found = offer(before, Completions(("ann",), (("help", ""),), agent_commands=agents))
    assert [choice.text for choice in found.choices] == texts if found else not texts


def test_exact_word_precedes_longer() -> None:
    found = offer("/mode", Completions(commands=(("model", ""), ("mode", ""))))
    assert found is not None
    assert [choice.text for choice in found.choices] == ["/mode", "/model"]


def test_a_choice_typed_in_full_is_complete() -> None:
    found = offer("hi @Ann", ROOM)
    assert found is not None
    assert found.is_complete(found.choices[0])
    assert not found.is_complete(found.choices[1])


def argument(command: str, rest: str) -> tuple[str, Words] | None:
    return (rest, [("bob", "is here"), ("Bobby", "")]) if command == "kick" else None


def test_command_arguments_are_offered() -> None:
    completions = Completions(["bob"], [("kick", "")], argument)
    offered = offer("/kick bo", completions)
    assert offered is not None
    assert offered.typed == "bo"
    assert [choice.text for choice in offered.choices] == ["bob", "Bobby"]
    assert offer("/kick zo", completions) is None
    assert offer("/help bo", completions) is None


def test_mention_completes_in_any_command() -> None:
    offered = offer("/me greets @b", Completions(["bob"], [], argument))
    assert offered is not None
    assert offered.choices[0].text == "@bob"


def test_a_colon_and_letters_offer_emoji() -> None:
    offered = offer("look :rocke", Completions())
    assert offered is not None
    assert offered.typed == ":rocke"
    assert offered.choices[0].text == "🚀"
    assert offer("at 10:30", Completions()) is None
    assert offer("see http://x", Completions()) is None
    assert offer(":r", Completions()) is None


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        (":tada", "🎉"),
        (":smile", "😄"),
        (":thumbsup", "👍"),
        (":thumbs_up", "👍"),
        (":+1", "👍"),
        (":100", "💯"),
        (":joy", "😂"),
        (":x:", "❌"),
        (":tada:", "🎉"),
    ],
)
def test_emoji_have_the_short_names_of_chats(typed: str, first: str) -> None:
    found = offer(f"so {typed}", Completions())
    assert found is not None
    assert found.typed == typed
    texts = [choice.text for choice in found.choices]
    assert texts[0] == first
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("typed", ["at :30", ":-)", ":--", ":tad:", "std::min"])
def test_what_is_no_name_of_an_emoji_offers_none(typed: str) -> None:
    assert offer(typed, Completions()) is None


def files(typed: str, most: int) -> list[str]:
    return [each for each in ("src/", "src/ann.py", '"my plan.md"') if typed in each][:most]


@pytest.mark.parametrize(
    ("before", "texts"),
    [
        ("@", ["@ann", "@bob", "@src/", "@src/ann.py", '@"my plan.md"']),
        ("see @ann", ["@ann", "@src/ann.py"]),
        ("(@src/a", ["@src/ann.py"]),
        ('@"my p', ['@"my plan.md"']),
        ('@"my plan.md" ', []),
        ("me@src", []),
    ],
)
def test_files_come_after_names(before: str, texts: list[str]) -> None:
    found = offer(before, Completions(("ann", "bob"), files=files))
    assert [choice.text for choice in found.choices] == texts if found else not texts
