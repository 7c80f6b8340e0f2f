"""Holding the coverage page against the code: what is claimed there must be true here.

A row names what the reference documents, written like Python: `class Name(parameters)`,
`async def name(parameters)`, `property name`, `attribute name: type` or `alias Name = type`. A row
of plain words is a guarantee, for which only its tests are looked up.
"""

import ast
import collections.abc
import dataclasses
import inspect
import re
import typing
from collections.abc import Callable, Container, Iterable, Iterator
from importlib import import_module
from typing import Any, Final

from tests.docs.pages import rows as read_rows

_CODE: Final = re.compile(r"`([^`]+)`")
_TEST: Final = re.compile(r"`([\w/-]+\.py)` `([\w:]+)`")
_CLAIM: Final = re.compile(
    r"^(abstract )?(static )?(class|async def|def|property|attribute|alias) "
)


@dataclasses.dataclass(frozen=True)
class Row:
    """One row: the documented name, its place here, and the tests that show it."""

    claim: str
    here: str
    tests: list[str]
    note: str

    @property
    def is_guarantee(self) -> bool:
        return not self.here


def rows(page: str) -> Iterator[Row]:
    """Read all lists of the page."""
    for claim, here, shown, note in read_rows(page, "documented"):
        yield _row(claim, here, shown, note)
    for first in ("guarantee", "difference"):
        for claim, shown, note in read_rows(page, first):
            yield _row(claim, "", shown, note)


def _row(claim: str, here: str, shown: str, note: str) -> Row:
    tests = ["::".join(each) for each in _TEST.findall(shown)]
    return Row(_only_code(claim) or claim, _only_code(here), tests, note)


def problems(table: Iterable[Row], tests: Container[str]) -> list[str]:
    """Name the faults of each row; `tests` are the existing ones, as `path::name`."""
    return [f"{row.claim}: {fault}" for row in table for fault in _problems(row, tests)]


def _problems(row: Row, tests: Container[str]) -> Iterator[str]:
    if not row.tests:
        yield f"no test shows {row.claim!r}"
    yield from (f"there is no test {test}" for test in row.tests if test not in tests)
    if row.is_guarantee:
        return
    try:
        found = _resolve(row.here)
    except (ImportError, AttributeError) as error:
        yield f"{row.here} is not there: {error}"
        return
    yield from _differences(row, found)


def _differences(row: Row, found: Any) -> Iterator[str]:
    match = _CLAIM.match(row.claim)
    if match is None:
        yield f"{row.claim!r} is not written as the checker reads it"
        return
    abstract, static, kind = match.groups()
    rest = row.claim[match.end() :]
    name = re.split(r"\W", rest, maxsplit=1)[0]
    if row.here.rpartition(".")[2] != name:
        yield f"{row.here} has another name than {name}"
    if abstract and not (inspect.isabstract(found) or hasattr(found, "__isabstractmethod__")):
        yield f"{name} is not abstract"
    if static and not isinstance(_raw(row.here), staticmethod):
        yield f"{name} is not a static method"
    yield from _CHECKS[kind](rest, found, row)


def _check_class(rest: str, found: Any, _row: Row) -> Iterator[str]:
    if not inspect.isclass(found):
        yield f"{rest} is no class"
    elif "(" in rest:
        yield from _check_parameters(rest, found)


def _check_function(rest: str, found: Any, _row: Row) -> Iterator[str]:
    if not callable(found):
        yield f"{rest} cannot be called"
    elif inspect.iscoroutinefunction(found) or inspect.isasyncgenfunction(found):
        yield f"{rest} is documented without `async`"
    else:
        yield from _check_parameters(rest, found)


def _check_coroutine(rest: str, found: Any, _row: Row) -> Iterator[str]:
    if not (inspect.iscoroutinefunction(found) or inspect.isasyncgenfunction(found)):
        yield f"{rest} is not `async`"
        return
    yield from _check_parameters(rest, found)


def _check_property(rest: str, _found: Any, row: Row) -> Iterator[str]:
    if not isinstance(_raw(row.here), property):
        yield f"{rest} is no property"


def _check_attribute(_rest: str, _found: Any, _row: Row) -> Iterator[str]:
    yield from ()  # that it resolves is all there is to it


def _check_alias(rest: str, found: Any, row: Row) -> Iterator[str]:
    _name, equals, documented = rest.partition(" = ")
    if not equals:
        return
    wanted = eval(documented, _names_for_aliases())  # noqa: S307 - the text is our own page's
    if typing.get_origin(wanted) is not collections.abc.Callable:
        if found is not wanted:
            yield f"{rest} is {found}"
        return
    *parameters, result = typing.get_args(wanted)
    *here, result_here = typing.get_args(found)
    if here != parameters:
        yield f"{rest} takes {here}"
    if result_here != result and not row.note:
        yield f"{rest} returns {result_here} and no note says so"


_CHECKS: Final[dict[str, Callable[[str, Any, Row], Iterator[str]]]] = {
    "class": _check_class,
    "def": _check_function,
    "async def": _check_coroutine,
    "property": _check_property,
    "attribute": _check_attribute,
    "alias": _check_alias,
}


def _check_parameters(documented: str, found: Any) -> Iterator[str]:
    """Compare names, order, kinds and defaults; what is added must be optional and come last."""
    wanted = _documented_parameters(documented)
    here = [each for each in inspect.signature(found).parameters.values() if each.name != "self"]
    for place, (name, kind, default) in enumerate(wanted):
        if kind is inspect.Parameter.VAR_KEYWORD:
            if not any(each.kind is kind for each in here):
                yield f"{documented}: **{name} is missing"
            continue
        real = here[place] if place < len(here) else None
        if real is None or real.name != name or real.kind is not kind:
            yield f"{documented}: parameter {place + 1} is {real}, not {name}"
            return
        if default is not _NONE and _plain_default(found, real) != default:
            yield f"{documented}: the default of {name} is {real.default!r}"
    for added in here[len(wanted) :]:
        if added.default is added.empty and added.kind not in _VARIADIC:
            yield f"{documented}: {added.name} was added and must be given"


_NONE: Final = object()
_VARIADIC: Final = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
_Parameter: typing.TypeAlias = tuple[str, "inspect._ParameterKind", Any]


def _documented_parameters(documented: str) -> list[_Parameter]:
    function = ast.parse(f"def {documented}: ...").body[0]
    assert isinstance(function, ast.FunctionDef)
    arguments = function.args
    missing: list[Any] = [_NONE] * (len(arguments.args) - len(arguments.defaults))
    defaults = missing + [_value(default) for default in arguments.defaults]
    result: list[_Parameter] = [
        (argument.arg, inspect.Parameter.POSITIONAL_OR_KEYWORD, default)
        for argument, default in zip(arguments.args, defaults, strict=True)
    ]
    if arguments.vararg:
        result.append((arguments.vararg.arg, inspect.Parameter.VAR_POSITIONAL, _NONE))
    if arguments.kwarg:
        result.append((arguments.kwarg.arg, inspect.Parameter.VAR_KEYWORD, _NONE))
    return result


def _value(node: ast.expr) -> Any:
    """Read a documented default; the pages write `list()` for a fresh list."""
    return [] if ast.unparse(node) == "list()" else ast.literal_eval(node)


def _plain_default(found: Any, parameter: inspect.Parameter) -> Any:
    if repr(parameter.default) == "<factory>":
        factory = next(
            field.default_factory
            for field in dataclasses.fields(found)
            if field.name == parameter.name
        )
        assert callable(factory)
        return factory()
    return list(parameter.default) if parameter.default == () else parameter.default


def _resolve(path: str) -> Any:
    """Import what a dotted path names, however deep the module is."""
    parts = path.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:length]))
        except ModuleNotFoundError as error:
            if error.name is None or not path.startswith(error.name):
                raise  # a module of ours is there but needs one that is not
            continue
        for position, part in enumerate(parts[length:], start=length):
            found = _member(found, part, last=position == len(parts) - 1)
        return found
    raise ImportError(path)


def _member(owner: Any, name: str, *, last: bool) -> Any:
    if last and inspect.isclass(owner) and name in {f.name for f in _fields(owner)}:
        return None  # a field without default is no attribute of its class
    return getattr(owner, name)


def _fields(owner: type) -> tuple["dataclasses.Field[Any]", ...]:
    return dataclasses.fields(owner) if dataclasses.is_dataclass(owner) else ()


def _raw(path: str) -> Any:
    owner, _, name = path.rpartition(".")
    return inspect.getattr_static(_resolve(owner), name)


def _only_code(cell: str) -> str:
    codes = _CODE.findall(cell)
    return codes[0] if len(codes) == 1 and cell == f"`{codes[0]}`" else ""


def _names_for_aliases() -> dict[str, Any]:
    import group_sense  # type: ignore[import-untyped]  # it ships no type information

    import genie_core.agent
    import genie_core.reasoner

    ours = {**vars(genie_core.agent), **vars(genie_core.reasoner)}
    ours["Decision"] = group_sense.Decision
    return {**ours, "Any": Any, "Callable": collections.abc.Callable, **vars(collections.abc)}
