"""The decision about a message: group-sense's own enum, or an equal one where there is none.

A program may name `Decision` by `group_sense` or by `genie_core`, import them in any order, and
compare with `is`, `==` and `match`: there is one enum. group-sense imports pydantic-ai, which takes
a second, so only the first use of the *name* imports it; the engine itself uses `decision` below.
"""

import sys
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias


class Decision(Enum):
    """Whether a message is left to the people or delegated to an agent.

    Without group-sense, and until this name is used, decisions are members of this class. One that
    was made earlier equals group-sense's, has the same hash, and is unpickled as group-sense's.
    """

    IGNORE = "ignore"
    DELEGATE = "delegate"

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, Enum) and type(other) is _loaded():
            return bool(other.value == self.value)
        return NotImplemented

    def __hash__(self) -> int:
        return super().__hash__()  # that of the name, which is group-sense's as well

    def __reduce_ex__(self, _protocol: object) -> tuple[Any, tuple[str]]:
        return decision, (self.value,)


_Own = Decision

if TYPE_CHECKING:
    AnyDecision: TypeAlias = Decision
else:
    AnyDecision = Enum  # in annotations: evaluating them must not import group-sense
    del Decision  # from now on `__getattr__` answers for it

    def __getattr__(name: str) -> Any:
        """Return `Decision`, importing group-sense for it; packages re-export this function."""
        if name != "Decision":
            raise AttributeError(f"there is no attribute {name!r} here")
        globals()[name] = chosen = _imported()
        return chosen


def decision(value: str) -> AnyDecision:
    """Return the decision with this value; raises `ValueError` for any but "ignore" and "delegate".

    Imports nothing: it is group-sense's once that is imported.
    """
    current: Any = globals().get("Decision") or _loaded() or _Own
    found: AnyDecision = current(value)
    return found


def _imported() -> type[Enum]:
    try:
        from group_sense import Decision as Theirs  # type: ignore[import-untyped]
    except ImportError:  # it is not installed, or a part of it is missing
        return _Own
    theirs: type[Enum] = Theirs
    return theirs


def _loaded() -> type[Enum] | None:
    return getattr(sys.modules.get("group_sense"), "Decision", None)
