"""The tables of docs/keys.md: `PYTHONPATH=src:. python -m tests.docs.keys_table` prints them."""

import sys
import textwrap
from collections.abc import Iterator, Sequence

from genie_tui.commands.key_file import preset_keys
from genie_tui.commands.key_names import write_key
from genie_tui.commands.keys import Scope
from genie_tui.commands.registry import runnable


def tables() -> str:
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    vi = preset_keys("vi")
    for scope in Scope:
        yield f"### `[{scope.context}]`: {scope.value[0].lower()}{scope.value[1:]}\n"
        yield "*action — default — vi — effect*\n"
        for action in runnable(scope):
            name = action.id.partition(".")[2]
            other = _keys(vi[action.id]) if action.id in vi else "–"
            yield from _item(f"`{name}` — {_keys(action.keys)} — {other} — {action.help}")
        yield ""


def _item(text: str) -> list[str]:
    lines = textwrap.wrap(text, 98, break_long_words=False, break_on_hyphens=False)
    return [f"- {lines[0]}", *(f"  {line}" for line in lines[1:])]


def _keys(keys: Sequence[str]) -> str:
    return " ".join(f"`{write_key(key)}`" for key in keys) or "none"


if __name__ == "__main__":
    sys.stdout.write(tables())
