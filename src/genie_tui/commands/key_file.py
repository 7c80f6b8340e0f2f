"""The file in which a person gives actions other keys, and its mistakes.

It is TOML: a table for each context, in it each action with its key, or a list of keys, or an empty
list for none. A line that can't be used is reported, and its action keeps its keys.
"""

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from textual.widgets import Input, TextArea

from genie_core.settings.model import Preset
from genie_core.storage.atomic import read_file, reason, replace_file
from genie_core.text.decoding import decode_text
from genie_core.text.safe import visible_line
from genie_tui.commands.key_names import InvalidKey, is_character, read_key, write_key
from genie_tui.commands.keymap import Keymap
from genie_tui.commands.keys import GUARDED, Action, Scope
from genie_tui.commands.registry import runnable
from genie_tui.commands.vi import VI

_ROOM: Final = frozenset(
    {
        *(Scope.COMPOSER, Scope.TIMELINE, Scope.CARD, Scope.JOIN_REQUESTS),
        *(Scope.ACTIVITY, Scope.ACTIVITY_ROWS, Scope.FIND),
    }
)

_INSIDE: Final[Mapping[Scope, frozenset[Scope]]] = {
    Scope.APP: frozenset(Scope) - {Scope.APP, Scope.FIRST_START},
    Scope.ROOM: _ROOM,
    Scope.REPLAY: frozenset({Scope.ACTIVITY, Scope.ACTIVITY_ROWS}),
    Scope.SESSIONS: frozenset({Scope.SESSION_LIST}),
    Scope.ACTIVITY: frozenset({Scope.ACTIVITY_ROWS}),
}
"""Contexts that are part of another one; a key with priority works in all of them."""

_TOGETHER: Final = frozenset({Scope.SESSIONS, Scope.ACTIVITY})
"""Contexts whose keys work together with those inside: none may be in both."""

_LINES: Final = frozenset(
    {
        *(Scope.ASK, Scope.PICK, Scope.FIND, Scope.EXPORT, Scope.SETTINGS, Scope.FIRST_START),
        Scope.HELP,
    }
)
_TEXTS: Final = frozenset({Scope.COMPOSER, Scope.PREFERENCES, Scope.EDIT})
"""Contexts in which a person types, one line or more."""

_EDITING: Final = frozenset(
    {
        *("enter", "escape", "tab", "shift+tab", "backspace", "delete", "home", "end"),
        *("up", "down", "left", "right", "pageup", "pagedown"),
    }
)
"""Keys with which every text is edited, sent or left."""


def read_keymap(preset: Preset, file: Path) -> Keymap:
    """Return the keys of a preset, changed by a file if it exists. Blocks; never raises."""
    chosen = preset_keys(preset)
    try:
        written = _read(file)
    except FileNotFoundError:
        return Keymap(runnable, chosen)
    except (OSError, ValueError) as error:
        text = reason(error) if isinstance(error, OSError) else str(error)
        return Keymap(runnable, chosen, (visible_line(f"{file.name} is not used: {text}"),))
    problems: list[str] = []
    changes = dict(_changes(written, problems))
    keys = _without_conflicts(chosen, changes, problems)
    return Keymap(runnable, keys, [visible_line(f"{file.name}, {each}") for each in problems])


def preset_keys(preset: Preset) -> dict[str, tuple[str, ...]]:
    """Return the changes of a preset, by action."""
    if preset == "default":
        return {}
    return {
        f"{context}.{name}": tuple(map(read_key, keys))
        for context, actions in VI.items()
        for name, keys in actions.items()
    }


def key_lines(preset: Preset, keymap: Keymap, file: Path) -> Iterator[str]:
    """Write the present keys as a file of keys; those that the file doesn't set are comments."""
    yield f"# The keys of genie-tui. {visible_line(str(file))} is read at the start, and after"
    yield "# “Edit keys” in the palette."
    yield "# A line without # changes the keys of an action: one key, a list of keys, or [] for none."
    yield '# Keys are written as "ctrl+k", "alt+x", "f5", "shift+tab", "esc", "pgup", "G" or "/".'
    chosen = preset_keys(preset)
    for scope in Scope:
        yield ""
        yield f"# {scope.value}"
        yield f"[{scope.context}]"
        for action in runnable(scope):
            before = chosen.get(action.id, action.keys)
            now = keymap.of(action).keys
            mark = "# " if now == before else ""
            yield f"{mark}{_name(action)} = {_toml(now)}  # {action.help}"


def create_key_file(preset: Preset, file: Path) -> None:
    """Write a file of keys in which every line is a comment, unless there is a file.

    Blocks. Raises `OSError`.
    """
    if not file.exists():
        lines = key_lines(preset, read_keymap(preset, file), file)
        replace_file(file, "".join(f"{line}\n" for line in lines).encode())


def _toml(keys: Sequence[str]) -> str:
    # No key has a character that TOML would need escaped but these two.
    quoted = [f"'{key}'" if key in ('"', "\\") else f'"{key}"' for key in map(write_key, keys)]
    return quoted[0] if len(quoted) == 1 else f"[{', '.join(quoted)}]"


def _name(action: Action) -> str:
    return action.id.partition(".")[2]


def _place(action: Action) -> str:
    return f"[{action.scope.context}] {_name(action)}"


def _read(file: Path) -> dict[str, Any]:
    """Read a file. Raises `OSError`, or `ValueError` with the mistake."""
    try:
        return tomllib.loads(decode_text(read_file(file)))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ValueError(f"it is not valid TOML: {error}") from None


# The content of the file

_WAYS_BACK: Final = frozenset({"back", "go-back", "later", "close", "stay", "skip", "leave"})
"""Names of actions that leave a screen, a dialog or a card."""


def _changes(
    written: Mapping[str, Any], problems: list[str]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the keys of each action that the file names; report unusable lines."""
    contexts = {scope.context: scope for scope in Scope}
    for context, actions in written.items():
        scope = contexts.get(context)
        if scope is None:
            problems.append(f"[{context}]: there is no such context{_suggest(context, contexts)}")
        elif not isinstance(actions, dict):
            problems.append(f"[{context}]: it must be a table with actions")
        else:
            yield from _changes_of(scope, actions, problems)


def _changes_of(
    scope: Scope, written: Mapping[str, Any], problems: list[str]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    known = {_name(action): action for action in runnable(scope)}
    for name, value in written.items():
        action = known.get(name)
        if action is None:
            hint = _suggest(name, known)
            problems.append(f"[{scope.context}] {name}: there is no such action{hint}")
            continue
        try:
            keys = _keys(value)
            _check(action, keys)
        except InvalidKey as error:
            problems.append(f"{_place(action)}: {error}")
        else:
            yield action.id, keys


def _suggest(word: str, names: Iterable[str]) -> str:
    near = get_close_matches(word, list(names), n=1, cutoff=0.5)
    return f"; did you mean '{near[0]}'?" if near else ""


def _keys(value: object) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
        raise InvalidKey("its value must be a key or a list of keys, each in quotes")
    keys = tuple(map(read_key, texts))
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice is not None:
        raise InvalidKey(f"'{write_key(twice)}' is there twice")
    return keys


def _check(action: Action, keys: Sequence[str]) -> None:
    """Raise `InvalidKey` if an action can't have these keys."""
    if not keys and _needs_key(action):
        raise InvalidKey("it can have other keys, but not none")
    if action.ordered and len(keys) % len(action.keys):
        order = ", ".join(write_key(key) for key in action.keys)
        raise InvalidKey(
            f"its keys stand for {order}, in this order: name {len(action.keys)} keys, or twice as many"
        )
    for key in keys:
        why = "" if key in action.keys else _objection(action, key)
        if why:
            raise InvalidKey(f"'{write_key(key)}' {why}")


def _needs_key(action: Action) -> bool:
    """Whether a person could be lost without a key for an action: help, quitting, and going back."""
    return action.id in ("app.help", "app.quit") or (
        "escape" in action.keys and _name(action) in _WAYS_BACK
    )


def _objection(action: Action, key: str) -> str:
    """Return why an action can't have a key; empty if it can."""
    if action.priority and (is_character(key) or key in _EDITING):
        return "types or edits text, and this action would take it from every text"
    if action.scope in GUARDED and key in ("tab", "shift+tab"):
        return "moves the focus there"
    if action.scope in _LINES | _TEXTS and (is_character(key) or key in ("backspace", "delete")):
        return "types or edits text there"
    kind = Input if action.scope in _LINES else TextArea if action.scope in _TEXTS else None
    if kind is not None and action.scope is not Scope.COMPOSER and not action.priority:
        edits = {each for binding in kind._merged_bindings or () for each in binding[:1]}  # noqa: SLF001 - Textual tells it nowhere else
        if key in edits:
            return "edits text there"
    return ""


# Conflicts


def _without_conflicts(
    chosen: Mapping[str, tuple[str, ...]],
    changes: dict[str, tuple[str, ...]],
    problems: list[str],
) -> dict[str, tuple[str, ...]]:
    """Return the preset with the changes that are possible; later lines of a conflict go."""
    while True:
        keymap = Keymap(runnable, {**chosen, **changes})
        conflict = next(_conflicts(keymap, changes), None)
        if conflict is None:
            return dict(keymap.changed)
        action, key, other = conflict
        del changes[action.id]
        problems.append(f"{_place(action)}: '{write_key(key)}' is the key of {_place(other)}")


def _conflicts(
    keymap: Keymap, changes: Mapping[str, tuple[str, ...]]
) -> Iterator[tuple[Action, str, Action]]:
    """Yield changed actions with a key that another action has, the latest change first."""
    listed = [
        (action, key) for scope in Scope for action in keymap.actions(scope) for key in action.keys
    ]
    for id_ in reversed(list(changes)):
        for action, key in listed:
            if action.id != id_:
                continue
            for other, taken in listed:
                if taken == key and other.id != id_ and _exclude(action, other):
                    yield action, key, other


def _exclude(one: Action, other: Action) -> bool:
    """Whether two actions can't have the same key."""
    if one.scope is other.scope:
        return True
    for outer, inner in ((one, other), (other, one)):
        if inner.scope in _INSIDE.get(outer.scope, ()):
            return outer.priority or inner.priority or outer.scope in _TOGETHER
    return False
