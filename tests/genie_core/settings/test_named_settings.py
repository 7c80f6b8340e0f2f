"""Texts that name a setting name one that exists."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from genie_core.room.protocol.limits import Limits
from genie_core.settings import model as settings_model
from genie_serve import config as serve_config

ROOT = Path(__file__).parents[3]
PACKAGES = sorted([*ROOT.glob("src/genie_*"), *ROOT.glob("plugins/*/src/genie_*")])

TABLES: tuple[type[msgspec.Struct], ...] = (
    Limits,
    *(
        each
        for module in (settings_model, serve_config)
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, msgspec.Struct)
    ),
)
NAMES = {field.encode_name for table in TABLES for field in msgspec.structs.fields(table)}
OF_OTHERS = {"synchronous_standby_names"}  # settings of PostgreSQL
QUOTED = re.compile(r"['`]([a-z]\w*(?:\.\w+)*)(?: = [^'`]*)?['`]")
GIVEN = re.compile(r"(?<![\w$?@-])([a-z]\w*) = ")
CODE = re.compile(
    r"^value = $|= \?|\b(?:import|SELECT|UPDATE|DELETE|PRAGMA|INSERT|WHERE|select|PART|CREATE)\b"
)


def texts(module: Path) -> Iterator[str]:
    """Yield the constant texts of a module that are no docstrings."""
    tree = ast.parse(module.read_text("utf-8"))
    standing = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or id(node) in standing:
            continue
        if isinstance(node.value, str) and " " in node.value:
            yield node.value


def named(text: str) -> set[str]:
    """Return the settings that a text names: quoted beside that word, or with a value."""
    if CODE.search(text):
        return set()
    quoted = QUOTED.findall(text) if re.search(r"\bsettings?\b", text) else []
    return {name.rpartition(".")[2] for name in (*quoted, *GIVEN.findall(text))}


@pytest.mark.parametrize("package", PACKAGES, ids=lambda each: each.name)
def test_texts_name_settings_that_exist(package: Path) -> None:
    unknown = {
        f"{module.relative_to(ROOT)}: {name} in {text!r}"
        for module in package.rglob("*.py")
        for text in texts(module)
        for name in named(text) - NAMES - OF_OTHERS
    }
    assert unknown == set()


def test_unknown_setting_is_found() -> None:
    assert named("allow more by the setting 'patience'") == {"patience"}
    assert named("let it run without by patience = 3") == {"patience"}
