"""Commands are judged by what they run, not by how they are written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_core.assistant.policy.commands import analyse, is_covered, matches

PUSHES = [
    "git push",
    "git  push origin main",
    'git "push"',
    "git pu''sh",
    "git -C . push",
    "git -c a=b push",
    "/usr/bin/git push",
    "env git push",
    "env -i A=b git push",
    "GIT_DIR=x git push",
    "sh -c 'git push'",
    "bash -lc 'cd x && git push'",
    "nice -n 5 timeout 3 git push",
    "xargs git push",
    "find . -name x -exec git push ;",
    "sh -c \"sh -c 'git push'\"",
]

FREE = [
    "git -c alias.x=!id x",
    "git -C /tmp/other status",
    "git --exec-path=/tmp status",
    "git x",
    "git grep -Oid pattern",
    "git diff --ext-diff",
    "git diff --output=/tmp/x",
    "git rebase -x id main",
    "git clone ext::sh -c id",
    "git ls-remote --upload-pack=id .",
    "find . -exec id ;",
    "find . -delete",
    "env id",
    "xargs id",
    "python3 -c 'import os'",
    "python3.11 script.py",
    "awk 'BEGIN { system(\"id\") }'",
    "tar --to-command=id -xf x.tar",
    "./tool",
    "/tmp/git status",
    "A=b git status",
    "sh script",
    "busybox sh",
    "git 'status",
]


@pytest.mark.parametrize("text", PUSHES)
def test_denied_command_matches_any_form(text: str) -> None:
    assert matches(analyse(text), "git push*")


@pytest.mark.parametrize(
    "text", ["cd x && git push; ls", "echo $(git push)", "`git push`", "a|git push"]
)
def test_a_denied_command_is_found_in_a_shell(text: str) -> None:
    assert matches(analyse(text, in_shell=True), "git push*")


@pytest.mark.parametrize("text", ["git status", "git log", "gitpush", "echo git-push"])
def test_other_commands_are_not_denied(text: str) -> None:
    assert not matches(analyse(text), "git push*")


@pytest.mark.parametrize("text", FREE)
def test_pattern_covers_no_nested_command(text: str) -> None:
    program = text.split()[0]
    assert analyse(text).anything
    assert not is_covered(analyse(text), f"{program} *")
    assert not is_covered(analyse(text), "*")


@pytest.mark.parametrize(
    ("text", "pattern", "covered"),
    [
        ("git status", "git *", True),
        ("git  status", "git status", True),
        ("git status -s", "git status", False),
        ("git push", "git status*", False),
        ("gitk", "git*", False),
        ("ls", "l*", True),
        ("git/../evil x", "git*", False),
        ("ls -la docs", "ls *", True),
        ("find . -name x", "find *", True),
        ("make test", "make *", True),
        ("python3 -c x", "python3 -c x", True),
        ("", "*", False),
    ],
)
def test_a_pattern_allows_what_it_covers(text: str, pattern: str, covered: bool) -> None:
    assert is_covered(analyse(text), pattern) is covered


def test_pattern_covers_no_shell_command() -> None:
    assert not is_covered(analyse("git status", in_shell=True), "git *")


@given(st.text(), st.booleans())
def test_any_text_is_analysed(text: str, shell: bool) -> None:
    command = analyse(text, in_shell=shell)
    assert command.anything or command.words
    matches(command, text)


@given(st.lists(st.sampled_from(["env", "nice", "sh", "-c", "x=y", "git -C ."]), max_size=4))
def test_prefix_hides_no_denied_command(before: list[str]) -> None:
    assert matches(analyse(" ".join([*before, "git push"])), "git push")
