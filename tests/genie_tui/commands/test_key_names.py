import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from genie_tui.commands.key_names import InvalidKey, is_character, read_key, write_key
from genie_tui.commands.keys import Scope
from genie_tui.commands.registry import runnable
from genie_tui.commands.vi import VI

KEYS = sorted({key for scope in Scope for each in runnable(scope) for key in each.keys})


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("ctrl+k", "ctrl+k"),
        ("Ctrl+K", "ctrl+k"),
        ("^k", "ctrl+k"),
        ("alt+ctrl+x", "alt+ctrl+x"),
        ("ctrl+alt+x", "alt+ctrl+x"),
        ("F5", "f5"),
        ("shift+tab", "shift+tab"),
        ("shift+g", "G"),
        ("G", "G"),
        ("!", "exclamation_mark"),
        ("/", "slash"),
        ("+", "plus"),
        ("ctrl++", "ctrl+plus"),
        ("^", "circumflex_accent"),
        ("esc", "escape"),
        ("pgdn", "pagedown"),
        ("↑", "up"),
        (" ", "space"),
        ("ctrl+space", "ctrl+@"),
        ("ü", "ü"),
    ],
)
def test_people_write_keys_as_they_call_them(text: str, key: str) -> None:
    assert read_key(text) == key


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("crtl+k", "is no key; did you mean 'ctrl+k'?"),
        ("pgdwn", "is no key; did you mean 'pgdn'?"),
        ("ctrl+", "is no key"),
        ("", "is no key"),
        ("f99", "is no key"),
        ("shift+1", "depends on the keyboard: write the character that it types"),
        ("ctrl+i", "can't be told from tab in most terminals"),
        ("ctrl+m", "can't be told from enter in most terminals"),
        ("ctrl+[", "can't be told from esc in most terminals"),
        ("ctrl+h", "can't be told from backspace in most terminals"),
    ],
)
def test_invalid_key_is_refused_with_reason(text: str, why: str) -> None:
    with pytest.raises(InvalidKey) as caught:
        read_key(text)
    assert str(caught.value).startswith(f"'{text}' {why}")


@pytest.mark.parametrize("key", KEYS)
def test_written_key_reads_back(key: str) -> None:
    assert read_key(write_key(key)) == key


def test_vi_keys_round_trip() -> None:
    for actions in VI.values():
        for keys in actions.values():
            assert [write_key(read_key(key)) for key in keys] == list(keys)


@given(st.text(max_size=12))
@example("»")
@example("﷽")
def test_no_text_breaks_the_reader(text: str) -> None:
    try:
        key = read_key(text)
    except InvalidKey:
        return
    assert read_key(write_key(key)) == key


def test_characters_are_told_from_other_keys() -> None:
    assert all(map(is_character, ("a", "G", "slash", "space", "ü")))
    assert not any(map(is_character, ("enter", "f5", "ctrl+a", "alt+x", "up")))
