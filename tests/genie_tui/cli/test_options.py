"""What can be said on the command line."""

from importlib.metadata import version

import pytest

from genie_tui.cli.commands import parse, parser
from genie_tui.cli.options import settings_in


def test_version_names_program_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"genie-tui {version('genie-tui')}\n"


def test_help_is_grouped_and_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["--help"])
    out = capsys.readouterr().out
    for part in ("you:", "your assistant:", "commands:", "examples:", "GENIE_HOME"):
        assert part in out


def test_doctor_model_option_asks_model() -> None:
    assert parser().parse_args(["host", "--model", "openai:big"]).model == "openai:big"
    asked = parser().parse_args(["doctor", "--model"])
    assert asked.ask_model


def test_options_before_command_count() -> None:
    assert parse(["--model", "openai:big", "doctor"]).model == "openai:big"
    asked = parse(["--model", "openai:big", "doctor", "--model"])
    assert (asked.model, asked.ask_model) == ("openai:big", True)
    assert parse(["doctor", "--model", "openai:big", "--port", "7655"]).port == 7655
    listed = parse(["sessions", "--json", "--sort", "size", "--tag", "a", "list"])
    assert (listed.json, listed.sort, listed.tag) == (True, "size", ["a"])
    assert parse(["sessions", "list"]).sort == "activity"
    assert parse(["--name", "ann", "join", ":1", "--guest"]).name == "ann"
    assert parse(["replay", "--model", "x:y"]).model == "x:y"
    assert parse(["--set", "retention.max_age_days=3", "sessions", "prune"]).part == "prune"


@pytest.mark.parametrize("arguments", [["--local"], ["--local", "host"], ["host", "--local"]])
def test_lobby_and_host_can_stay_local(arguments: list[str]) -> None:
    assert settings_in(parse(arguments))["local"] is True
    assert settings_in(parse(["host"]))["local"] is None


def test_options_work_on_either_side() -> None:
    before = parser().parse_args(["--name", "ann", "host", "--title", "T"])
    after = parser().parse_args(["host", "--name", "ann", "--title", "T"])
    assert before == after


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--modle", "x"], ["--modle", "did you mean --model?"]),
        (["doctor", "--modle", "x"], ["--modle", "did you mean --model?", "doctor --help"]),
        (["id", "--modle", "x"], ["did you mean --name?", "genie-tui id --help"]),
        (["host", "--as-cpy"], ["did you mean --ask?"]),
        (["sessions", "import", "--as-cpy", "x"], ["did you mean --as-copy?"]),
        (["host", "--titel", "x"], ["did you mean --title?"]),
        (["--name", "host", "--titel", "x"], ["did you mean --help?"]),
        (["--model", "x:y", "id"], ["--model has no effect on 'genie-tui id'; leave it out"]),
        (["id", "--model", "x:y"], ["there is no option --model"]),
        (["--base-url", "http://x", "sessions"], ["--base-url has no effect"]),
        (["--name", "ann", "sessions"], ["--name has no effect on 'genie-tui sessions'"]),
        (["--set", "retention.max_age_days=3", "sessions", "show", "x"], ["no effect"]),
        (["--model", "x:y", "join", ":1", "--guest"], ["--model", "'genie-tui join --guest'"]),
        (["join", ":1", "--guest", "--set", "budget.money=1"], ["--set budget.money has no"]),
        (["replay", "--model", "x:y", "--print"], ["--model", "'genie-tui replay --print'"]),
        (["--theme", "x", "sessions", "list"], ["--theme has no effect on 'genie-tui sessions"]),
        (["--name", "ann", "secrets", "list"], ["--name has no effect"]),
        (["--name", "ann", "invite"], ["--name has no effect"]),
        (["--workspace", "x", "config", "path"], ["--workspace has no effect"]),
        (["config", "--model", "x:y", "set", "port", "1"], ["--model has no effect"]),
        (["--set", "budget.money=2", "doctor"], ["--set budget.money has no effect"]),
        (["doctor", "--set", "notify=none"], ["--set notify has no effect"]),
        (["--theme", "x", "doctor"], ["--theme has no effect"]),
        (["host", "--port", "0"], ["1 to 65535"]),
        (["host", "--port", "x"], ["1 to 65535"]),
        (["join"], ["INVITE"]),
        (["dance"], ["dance"]),
        (["--set", "budgt.money=2"], ["'budgt'", "did you mean 'budget'?"]),
        (["host", "--set", "budget.money=much"], ["budget.money can't be 'much'", "a number"]),
        (["--set", "budget.money"], ["write budget.money=VALUE"]),
        (["--set", "agents.coder.model=x"], ["only be set in the file"]),
        (["--\x1b]0;x\x07"], ["--␛]0;x␇"]),
        (["\x1b]0;x\x07"], ["]0;x"]),
    ],
)
def test_a_wrong_command_line_is_one_line(
    arguments: list[str], parts: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        parse(arguments)
    error = capsys.readouterr().err
    assert caught.value.code == 2
    assert error.count("\n") == 1
    assert error.removesuffix("\n").isprintable()
    for part in parts:
        assert part in error


def test_settings_merge_from_both_places() -> None:
    given = settings_in(
        parse(["--set", "budget.money=2", "host", "--name", "ann", "--set", "ask=true"])
    )
    assert {name: value for name, value in given.items() if value is not None} == {
        "name": "ann",
        "budget.money": 2.0,
        "ask": True,
    }


def test_an_agent_is_chosen_where_one_can_answer(capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["host"], ["resume"], ["join", ":1"], ["doctor"]):
        assert settings_in(parse([*command, "--agent", "codex"]))["agent"] == "codex"
    with pytest.raises(SystemExit):
        parse(["join", ":1", "--guest", "--agent", "codex"])
    assert "--agent has no effect on 'genie-tui join --guest'" in capsys.readouterr().err
