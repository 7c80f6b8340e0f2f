"""Files of keys: what they change, and what is said about those that are wrong."""

import os
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_core.settings.model import Preset
from genie_tui.commands.key_file import key_lines, preset_keys, read_keymap
from genie_tui.commands.keymap import Keymap
from genie_tui.commands.keys import GUARDED, Action, Scope
from genie_tui.commands.registry import runnable

ACTIONS = [action for scope in Scope for action in runnable(scope)]
PRESETS: tuple[Preset, ...] = ("default", "vi")


def keys_in(folder: Path, text: str, preset: Preset = "default") -> Keymap:
    file = folder / "keys.toml"
    file.write_text(text)
    return read_keymap(preset, file)


def problem(folder: Path, text: str) -> str:
    """The only problem of a file, which changes nothing."""
    keymap = keys_in(folder, text)
    (line,) = keymap.problems
    assert keymap.changed == {}
    return line


def test_every_action_has_a_name_of_its_own() -> None:
    assert len({each.id for each in ACTIONS}) == len(ACTIONS)
    assert all(part.replace("-", "").isalpha() for each in ACTIONS for part in each.id.split("."))


@pytest.mark.parametrize("preset", PRESETS)
def test_preset_is_valid_without_conflicts(tmp_path: Path, preset: Preset) -> None:
    assert preset_keys(preset).keys() <= {each.id for each in ACTIONS}
    every_key = "\n".join(
        line.removeprefix("# ") if " = " in line else line
        for line in key_lines(preset, Keymap(runnable, preset_keys(preset)), tmp_path / "keys.toml")
        if not line.startswith(("# Keys", "# The", "# A "))
    )
    keymap = keys_in(tmp_path, every_key, preset)
    assert keymap.problems == []
    changed = {id_: keys for id_, keys in keymap.changed.items() if keys != default(id_)}
    assert changed == preset_keys(preset)


def default(id_: str) -> tuple[str, ...]:
    return next(each.keys for each in ACTIONS if each.id == id_)


def test_missing_file_uses_preset(tmp_path: Path) -> None:
    keymap = read_keymap("vi", tmp_path / "keys.toml")
    assert keymap.named(Scope.TIMELINE, "latest").keys == ("end", "G")
    assert (keymap.problems, read_keymap("default", tmp_path / "none").changed) == ((), {})


def test_one_key_a_list_or_none(tmp_path: Path) -> None:
    keymap = keys_in(
        tmp_path, '[room]\napprovals = "alt+a"\npanel = ["f3", "alt+p"]\ninvite = []\n'
    )
    assert keymap.problems == []
    assert keymap.named(Scope.ROOM, "approvals").keys == ("alt+a",)
    assert keymap.named(Scope.ROOM, "panel").keys == ("f3", "alt+p")
    assert keymap.named(Scope.ROOM, "invite").keys == ()


def test_two_actions_swap_their_keys(tmp_path: Path) -> None:
    keymap = keys_in(tmp_path, '[timeline]\nreply = "e"\nedit = "r"\n')
    assert keymap.problems == []
    assert keymap.by_key(Scope.TIMELINE)["e"].label == "reply"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            '[rom]\nfind = "f5"',
            "keys.toml, [rom]: there is no such context; did you mean 'room'?",
        ),
        ("room = 3", "keys.toml, [room]: it must be a table with actions"),
        (
            '[room]\naprovals = "alt+a"',
            "keys.toml, [room] aprovals: there is no such action; did you mean 'approvals'?",
        ),
        (
            '[room]\nfind = "crtl+f"',
            "keys.toml, [room] find: 'crtl+f' is no key; did you mean 'ctrl+f'?",
        ),
        (
            "[room]\nfind = 5",
            "keys.toml, [room] find: its value must be a key or a list of keys, each in quotes",
        ),
        (
            '[room]\nfind = ["alt+f", "alt+f"]',
            "keys.toml, [room] find: 'alt+f' is there twice",
        ),
        (
            '[room]\nfind = "ctrl+i"',
            "keys.toml, [room] find: 'ctrl+i' can't be told from tab in most terminals",
        ),
        (
            '[timeline]\nreply = "e"',
            "keys.toml, [timeline] reply: 'e' is the key of [timeline] edit",
        ),
        (
            '[timeline]\nreply = "f5"',
            "keys.toml, [timeline] reply: 'f5' is the key of [room] read-back",
        ),
        (
            '[room]\nfind = "ctrl+j"',
            "keys.toml, [room] find: 'ctrl+j' is the key of [composer] new-line",
        ),
        (
            '[room]\nfind = "ctrl+p"',
            "keys.toml, [room] find: 'ctrl+p' is the key of [app] palette",
        ),
        (
            '[grants]\nrevoke = "f1"',
            "keys.toml, [grants] revoke: 'f1' is the key of [app] help",
        ),
        (
            '[sessions]\nfork = "k"',
            "keys.toml, [sessions] fork: 'k' is the key of [session-list] up",
        ),
        ("[app]\nquit = []", "keys.toml, [app] quit: it can have other keys, but not none"),
        ("[app]\nhelp = []", "keys.toml, [app] help: it can have other keys, but not none"),
        (
            "[confirm]\ngo-back = []",
            "keys.toml, [confirm] go-back: it can have other keys, but not none",
        ),
        (
            '[card]\nscroll = ["k", "j"]',
            "keys.toml, [card] scroll: its keys stand for up, down, pgup, pgdn, in this order: name 4 keys, or twice as many",
        ),
        (
            '[card]\nallow-once = "tab"',
            "keys.toml, [card] allow-once: 'tab' moves the focus there",
        ),
        ('[ask]\nback = "q"', "keys.toml, [ask] back: 'q' types or edits text there"),
        ('[find]\nearlier = "ctrl+k"', "keys.toml, [find] earlier: 'ctrl+k' edits text there"),
    ],
)
def test_mistake_names_context_and_key(tmp_path: Path, text: str, line: str) -> None:
    assert problem(tmp_path, text) == line


def test_what_is_right_applies_beside_mistakes(tmp_path: Path) -> None:
    keymap = keys_in(tmp_path, '[room]\nfind = "nope"\npanel = "alt+p"\n[x]\n[card]\ndeny = "k"\n')
    assert len(keymap.problems) == 2
    assert keymap.changed == {"room.panel": ("alt+p",), "card.deny": ("k",)}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"[room\n", "keys.toml is not used: it is not valid TOML"),
        (b'[room]\nfind = "\xff"\n', "keys.toml is not used: it is not UTF-8 text"),
        (b"a = " + b"[" * 5_000, "keys.toml is not used: it is not valid TOML"),
    ],
)
def test_an_unreadable_file_leaves_the_preset(tmp_path: Path, content: bytes, why: str) -> None:
    file = tmp_path / "keys.toml"
    file.write_bytes(content)
    keymap = read_keymap("vi", file)
    assert [line.startswith(why) for line in keymap.problems] == [True]
    assert keymap.changed == preset_keys("vi")


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "keys.toml")
    (line,) = read_keymap("default", tmp_path / "keys.toml").problems
    assert line == "keys.toml is not used: Not a regular file"


TYPED = [*"aZ1!/+ü ", "space", "enter", "backspace", "delete", "tab", "esc", "up", "left", "home"]


@pytest.mark.parametrize("action", [each for each in ACTIONS if each.priority], ids=str)
def test_typing_key_cannot_be_global_action(tmp_path: Path, action: Action) -> None:
    context, _, name = action.id.partition(".")
    for key in TYPED:
        line = problem(tmp_path, f'[{context}]\n{name} = "{key}"\n')
        assert "types or edits text, and this action would take it from every text" in line


def test_every_name_of_a_file_can_be_hostile(tmp_path: Path) -> None:
    line = problem(tmp_path, '[room]\n"\\u001b]0;x\\u0007" = "f5"\n')
    assert line.isprintable()


@given(
    st.dictionaries(
        st.sampled_from([scope.context for scope in Scope]),
        st.dictionaries(
            st.sampled_from(sorted({each.id.partition(".")[2] for each in ACTIONS})),
            st.lists(st.sampled_from(["a", "f5", "ctrl+k", "up", "esc", "enter", "G"]), max_size=3),
            max_size=4,
        ),
        max_size=4,
    )
)
def test_no_key_has_two_meanings(
    tmp_path_factory: pytest.TempPathFactory, written: dict[str, dict[str, list[str]]]
) -> None:
    lines = [
        f"[{context}]\n" + "\n".join(f"{name} = {keys}" for name, keys in actions.items())
        for context, actions in written.items()
    ]
    keymap = keys_in(tmp_path_factory.mktemp("keys"), "\n".join(lines))
    for scope in Scope:
        keys = [key for action in keymap.actions(scope) for key in action.keys]
        assert len(keys) == len(set(keys))
    for scope in GUARDED:
        assert not {"tab", "shift+tab"} & keymap.by_key(scope).keys()
    for action in keymap.actions(Scope.APP):
        assert action.keys or action.id not in ("app.help", "app.quit")


def test_the_printed_keys_are_a_file_of_keys(tmp_path: Path) -> None:
    keymap = keys_in(tmp_path, '[room]\napprovals = "alt+a"\ninvite = []\n')
    text = "\n".join(key_lines("default", keymap, tmp_path / "keys.toml"))
    written = {context: actions for context, actions in tomllib.loads(text).items() if actions}
    assert written == {"room": {"approvals": "alt+a", "invite": []}}
    assert tomllib.loads(text).keys() == {scope.context for scope in Scope}
    again = keys_in(tmp_path, text)
    assert (again.problems, again.changed) == ([], keymap.changed)
    for action in ACTIONS:
        assert f"{action.id.partition('.')[2]} = " in text
    assert str(tmp_path / "keys.toml") in text
