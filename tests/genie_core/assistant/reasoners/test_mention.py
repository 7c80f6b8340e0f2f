import pytest

from genie_core.assistant.reasoners.mention import mentioned, mentions_someone_else, without_mention


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("@genie what is up", "genie"),
        ("so @Genie, tell us", "genie"),
        ("what do you think, @SYSTEM?", "system"),
        ("(@genie)", "genie"),
        ("thanks @genie.", "genie"),
        ("`code` and @genie", "genie"),
        ("@genie", "genie"),
        ("@genie/@bob look", "genie"),
        ("an ` alone, @genie", "genie"),
        ("`` open @genie `", "genie"),
        ("`a` @genie `b`", "genie"),
    ],
)
def test_a_mention_is_found(text: str, name: str) -> None:
    assert mentioned(text) == name


@pytest.mark.parametrize(
    "text",
    [
        "genie",
        "write to me@genie.example or info@genie",
        "@genies are many",
        "@genie_bot",
        "@genie-two",
        "look at @genie/notes.md",
        "@system/ is a folder",
        "@./genie",
        '@"genie plan.md"',
        "see https://example.invalid/@genie",
        "the word `@genie` in code",
        "```\nasks @genie\n```",
        "``a ` @genie``",
        "`a` ``b @genie ` ``",
        "@@genie",
        "",
    ],
)
def test_what_only_looks_like_a_mention_is_none(text: str) -> None:
    assert mentioned(text) is None


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("@genie, what is 12*7?", "what is 12*7?"),
        ("what is 12*7, @genie?", "what is 12*7?"),
        ("what time is it @genie ?", "what time is it?"),
        ("@genie: list the files", "list the files"),
        ("@genie run git add .", "run git add ."),
        ("well @genie , write a , b", "well, write a , b"),
        ("@genie - hello", "hello"),
        ("@genie -5 + 3", "-5 + 3"),
        ("@genie", ""),
        ("@genie!", ""),
        ("@genie what does `@genie` do", "what does `@genie` do"),
        ("@genie first\n\nsecond  line", "first\n\nsecond  line"),
    ],
)
def test_mention_is_removed_from_question(text: str, rest: str) -> None:
    assert without_mention(text) == rest


def test_calling_somebody_else_is_noticed() -> None:
    assert mentions_someone_else("@bob what is 2+2?")
    assert not mentions_someone_else("@genie what is 2+2?")
    assert not mentions_someone_else("mail bob@example.invalid")
    assert mentions_someone_else("@bob/@carol what is 2+2?")


@pytest.mark.parametrize(
    "text", ["read @src/app.py", "read @docs/", "read @notes.txt", "read @./make", 'read @"a b.md"']
)
def test_the_path_of_a_file_is_nobodys_name(text: str) -> None:
    assert not mentions_someone_else(text)


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "piece", ["`", "``` ", "a`b``", "@genie ", ", ", "!", "- ", "@", "` @genie "]
)
def test_no_text_takes_long(piece: str) -> None:
    text = piece * (64_000 // len(piece)) + "x"
    mentioned(text)
    mentions_someone_else(text)
    assert without_mention(text).endswith("x")


@pytest.mark.timeout(30)
@pytest.mark.parametrize("part", ["`", "`a", "@", "@a.", "@genie", ", ", ",?", "- ", " ", ":!"])
def test_no_pattern_runs_away(part: str) -> None:
    text = "@genie " + part * (20_000 // len(part)) + "x"
    assert "x" in without_mention(text)
    assert mentioned(text) == "genie"
    mentions_someone_else(text)
