"""`genie-tui config`: look at the settings, change them, and find their mistakes."""

import argparse
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, TextIO

import msgspec

from genie_core.privacy.redaction import hide_secrets
from genie_core.settings.edit import put, remove
from genie_core.settings.load import (
    LoadedSettings,
    SettingsError,
    SettingsFile,
    SettingsSource,
    read_settings,
    read_text,
    write_settings,
)
from genie_core.settings.locations import Locations
from genie_core.settings.model import KEY_NAMES, Preset, Settings
from genie_core.settings.setting_keys import (
    Key,
    NoSuchKey,
    fields_of,
    is_table,
    read_key,
    read_value,
    spell,
    type_at,
)
from genie_core.settings.validate import wrong
from genie_core.storage.atomic import reason
from genie_tui.cli.options import CommandParser, add_settings
from genie_tui.cli.output import safe_line
from genie_tui.external_editor import editor_command
from genie_tui.plugins import CommandCall

COLUMN: Final = 44
"""Where the origins begin, if the text before them leaves room."""

STARTER: Final = """\
# What genie-tui does, as you like it. To see every setting with its value: genie-tui config show
# To find mistakes: genie-tui config check
"""


def run_config(
    options: argparse.Namespace, source: SettingsSource, locations: Locations, out: TextIO
) -> int:
    """Run a config command; returns the exit code. Errors as `SettingsError`."""
    match options.part:
        case "path":
            out.write(f"{source.file}\n")
            return 0
        case "edit":
            _edit(source.file, source.env)
            return _check(source, locations, out)
        case "check":
            return _check(source, locations, out)
        case "set":
            first = [options.key] if options.value is None else [options.key, options.value]
            return _set([*first, *options.more], source, locations, out)
        case "unset":
            return _unset(options.key, source, out)
        case _:
            return _show(source, out)


def print_keys(preset: Preset, file: Path, out: TextIO) -> int:
    """Print the keys of every action as a file of keys; returns the exit code."""
    from genie_tui.commands.key_file import key_lines, read_keymap  # loads Textual

    keymap = read_keymap(preset, file)
    out.writelines(f"{line}\n" for line in key_lines(preset, keymap, file))
    return 0


def _show(source: SettingsSource, out: TextIO) -> int:
    reading = source.read()
    there = "" if source.file.exists() else " (not there)"
    out.write(f"# {safe_line(str(source.file))}{there}\n")
    # A line keeps its spaces: only control characters are spelt out.
    out.writelines(f"{_kept(line)}\n" for line in effective(reading))
    return 0


def _kept(line: str) -> str:
    return line if line.isprintable() else safe_line(line)


def effective(reading: LoadedSettings) -> Iterator[str]:
    """Return every setting with its effective value; unset ones as comments."""
    for key in _keys(Settings):
        if key == ("rules",):
            yield from _rules(reading)
        elif key == ("agents",):
            yield from _agents(reading)
        else:
            yield _line(key, _value_at(reading.settings, key), reading)


def _keys(table: type[msgspec.Struct], above: Key = ()) -> Iterator[Key]:
    for field, hint in fields_of(table).items():
        if is_table(hint):
            yield from _keys(hint, (*above, field))
        else:
            yield (*above, field)


def _value_at(value: Any, key: Key) -> Any:
    for part in key:
        value = getattr(value, str(part))
    return value


def _line(key: Key, value: Any, reading: LoadedSettings) -> str:
    said = f"# {spell(key)}" if value is None else f"{spell(key)} = {_toml(value)}"
    return _told(said, reading.origin(key).text)


def _told(said: str, origin: str) -> str:
    return f"{said:<{COLUMN}} # {origin}"


def _rules(reading: LoadedSettings) -> Iterator[str]:
    rules = reading.written.values.get("rules", [])
    if not rules:
        yield _told("rules = []", "default")
        return
    yield "rules = ["
    for place, rule in enumerate(rules):
        file = reading.written
        origin = f"{file.file.name}:{file.line(('rules', place))}"
        yield _told(f"  {_toml(rule)},", origin)
    yield "]"


def _agents(reading: LoadedSettings) -> Iterator[str]:
    agents = reading.written.values.get("agents", {})
    if not agents:
        yield _told("# agents", "default")
    for name, agent in agents.items():
        for field, value in agent.items():
            key = ("agents", name, field)
            yield _line(key, value, reading)


def _toml(value: Any) -> str:
    """Format a value on one line, hiding anything like a key."""
    import tomlkit

    if isinstance(value, dict):
        pairs = (f"{tomlkit.key(key).as_string()} = {_toml(each)}" for key, each in value.items())
        inner = ", ".join(pairs)
        return f"{{ {inner} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_toml(each) for each in value)}]"
    clean = hide_secrets(value) if isinstance(value, str) else value
    return tomlkit.item(clean).as_string()


def _check(source: SettingsSource, locations: Locations, out: TextIO) -> int:
    from genie_core.settings.review import review

    found = [problem.text for problem in review(source, locations, _theme_problem)]
    found += _key_problems(source, locations.keys_file)
    out.writelines(f"{safe_line(text)}\n" for text in found)
    if not found:
        out.write(f"{safe_line(str(source.file))}: nothing is wrong\n")
    return 1 if found else 0


def _key_problems(source: SettingsSource, file: Path) -> Sequence[str]:
    if not file.exists():
        return ()
    from genie_tui.commands.key_file import read_keymap  # loads Textual

    try:
        preset = source.read().settings.keymap
    except SettingsError:  # reported already
        preset = Settings().keymap
    return read_keymap(preset, file).problems


def _theme_problem(name: str) -> str | None:
    from genie_tui.themes import theme_problem  # loads Textual

    return theme_problem(name)


def _set(words: list[str], source: SettingsSource, locations: Locations, out: TextIO) -> int:
    from genie_core.settings.review import Problem, review_file

    given = [_given(key, raw) for key, raw in _pairs(words)]
    lacking: list[Problem] = []

    def check(before: SettingsFile, after: SettingsFile) -> None:
        _keep_keys_from_new_addresses(before, after, {key for key, _ in given})
        known, found = (
            review_file(each, locations, source.env, _theme_problem) for each in (before, after)
        )
        for problem in found:
            if problem in known:
                continue
            if not problem.lacking:
                raise SettingsError(f"{problem.text}; nothing was changed")
            lacking.append(problem)

    reading = source.change([partial(put, key=key, value=value) for key, value in given], check)
    for key, _ in given:
        out.write(f"{spell(key)} is set in {safe_line(str(source.file))}\n")
        origin = reading.origin(key)
        if origin.overrides:
            out.write(f"but now it comes from elsewhere: {origin.text}\n")
    out.writelines(f"note: {safe_line(each.text)}\n" for each in lacking)
    return 0


def _pairs(words: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the settings in `KEY VALUE KEY=VALUE …`; raise `SettingsError` if a value is missing."""
    waiting = iter(words)
    for word in waiting:
        key, equals, value = word.partition("=")
        raw = value if equals else next(waiting, None)
        if raw is None:
            raise SettingsError(f"there is no value for {key}; write KEY VALUE for each setting")
        yield key, raw


def _keep_keys_from_new_addresses(
    before: SettingsFile, after: SettingsFile, given: Collection[Key]
) -> None:
    """Raise `SettingsError` if a key that was named for one address would go to another."""
    places: list[tuple[Key, Key]] = [((each,), (name,)) for each, name in KEY_NAMES.items()]
    for agent in after.values.get("agents", {}):
        table = ("agents", agent)
        places.append(((*table, "base_url"), (*table, "api_key_env")))
    for place, key_place in places:
        old, new, key = before.at(place), after.at(place), after.at(key_place)
        if key and old and new and old != new and key_place not in given:
            address, key_name = spell(place), spell(key_place)
            raise SettingsError(
                f"{key_name} names a key for the {address} that is set now; name the key for the "
                f"new address: genie-tui config set {address} ADDRESS {key_name} NAME; nothing was "
                "changed"
            )


def _given(text: str, raw: str) -> tuple[Key, Any]:
    key = read_key(text)
    try:
        hint = type_at(Settings, key)
        return key, read_value(hint, raw)
    except NoSuchKey as error:
        raise SettingsError(str(error)) from error
    except msgspec.ValidationError as error:
        raise SettingsError(wrong(key, raw, hint, error)) from error


def _unset(text: str, source: SettingsSource, out: TextIO) -> int:
    key: Key = read_key(text)
    if not read_settings(source.file).has(key):
        raise SettingsError(f"{spell(key)} is not set in {source.file}")
    source.repair(partial(remove, key=key))
    out.write(f"{spell(key)} is not set any more in {safe_line(str(source.file))}\n")
    return 0


def _edit(file: Path, env: Mapping[str, str]) -> None:
    """Open the file in an editor and keep the result, valid or not."""
    import subprocess

    command = editor_command(env)
    fresh = not file.exists()
    if fresh:
        write_settings(file, STARTER)
    try:
        ended = subprocess.run([*command, str(file)], check=False).returncode
    except OSError as error:
        raise SettingsError(f"can't start the editor {command[0]}: {reason(error)}") from error
    finally:
        if fresh and read_text(file) == STARTER:
            file.unlink(missing_ok=True)
    if ended:
        raise SettingsError(
            f"the editor {command[0]} ended with {ended}; the file is as it left it"
        )


def add_config(command: CommandParser) -> None:
    add_settings(command)
    command.set_defaults(run=_run, part="show")
    add_part = command.add_parts("parts", "PART")

    def added(name: str, text: str, used: frozenset[str] | None = None) -> CommandParser:
        part = add_part(name, text)
        part.used = used
        add_settings(part)
        part.set_defaults(part=name)
        return part

    bare: frozenset[str] = frozenset()
    added("path", "print where the settings file is", bare)
    added("show", "print every setting, and where its value comes from")
    added("edit", "open the file in $VISUAL or $EDITOR, and check it afterwards")
    added("check", "find everything that is wrong, also with models, prompts and tool servers")
    change = added("set", "write settings into the file", bare)
    change.add_argument("key", metavar="KEY", help="for example model or budget.money")
    change.add_argument(
        "value", metavar="VALUE", nargs="?", help="as it is; lists as a,b; KEY=VALUE does, too"
    )
    change.add_argument(
        "more", metavar="KEY VALUE", nargs="*", help="others at the same time: all of them or none"
    )
    unset = added("unset", "take one setting out of the file", bare)
    unset.add_argument("key", metavar="KEY", help="as for set")


def add_keys(command: CommandParser) -> None:
    command.used = frozenset({"keymap"})
    add_settings(command)
    command.set_defaults(run=_run_keys)


def _run(call: CommandCall) -> int:
    return run_config(call.options, call.source, call.locations, call.stdout)


def _run_keys(call: CommandCall) -> int:
    return print_keys(call.settings.keymap, call.locations.keys_file, call.stdout)
