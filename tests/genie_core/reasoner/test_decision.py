"""One enum of decisions, whether group-sense is imported before, after, or never."""

import subprocess
import sys

import pytest
from tests.limits import scaled

from genie_core.reasoner import decision as module

SESSION = """
import asyncio, pickle, sys
from genie_core.message import Message
from genie_core.session import GroupSession
from genie_testing import agent_factory, reasoner_factory

async def chat():
    session = GroupSession("s", reasoner_factory(), agent_factory())
    execution = session.handle(Message("hi", "alice"))
    elements = [each async for each in execution.stream()]
    decided = [each async for each in execution.events()][0].decision
    await session.join()
    assert elements[0] == decided
    return elements[0]

def kind(element, enum):
    match element:
        case enum.DELEGATE:
            return "value"
    return "none"

def checks(element, *enums):
    for enum in enums:
        assert element is enum.DELEGATE, enum
        assert isinstance(element, enum), enum
        assert kind(element, enum) == "value"
        match element:
            case enum():
                pass
            case _:
                raise AssertionError(enum)
        assert pickle.loads(pickle.dumps(element)) is element
        assert {element: 1}[enum.DELEGATE] == 1
        assert element != enum.IGNORE
"""


def run(code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SESSION + code], capture_output=True, text=True, timeout=scaled(100)
    )
    assert done.returncode == 0, done.stderr


def test_imported_before_is_engines() -> None:
    run("""
import group_sense
from genie_core.agent import Decision
checks(asyncio.run(chat()), group_sense.Decision, Decision)
""")


def test_imported_after_name_is_same() -> None:
    run("""
from genie_core.agent import Decision
from genie_core.reasoner import Decision as Again
import group_sense
checks(asyncio.run(chat()), group_sense.Decision, Decision, Again)
""")


def test_imported_before_chat_is_engines() -> None:
    run("""
import group_sense
checks(asyncio.run(chat()), group_sense.Decision)
""")


def test_imported_after_chat_is_equal() -> None:
    run("""
early = asyncio.run(chat())
assert "group_sense" not in sys.modules
pickled = pickle.dumps(early)
import group_sense
from genie_core.agent import Decision
assert Decision is group_sense.Decision
assert early == Decision.DELEGATE and Decision.DELEGATE == early
assert early != Decision.IGNORE and Decision.IGNORE != early
assert hash(early) == hash(Decision.DELEGATE)
assert {early, Decision.DELEGATE} == {early}
assert kind(early, Decision) == "value"
assert pickle.loads(pickled) is pickle.loads(pickle.dumps(early)) is Decision.DELEGATE
checks(asyncio.run(chat()), Decision)
""")


def test_unnamed_is_never_imported() -> None:
    run("""
element = asyncio.run(chat())
assert (element.name, element.value, repr(element)) == ("DELEGATE", "delegate", "<Decision.DELEGATE: 'delegate'>")
assert pickle.loads(pickle.dumps(element)) is element
assert not {"group_sense", "pydantic_ai", "pydantic"} & set(sys.modules)
""")


def test_without_group_sense_enum_exists() -> None:
    run("""
sys.modules["group_sense"] = None  # so that importing it fails
from genie_core.agent import Decision
from genie_core.reasoner import Decision as Again
checks(asyncio.run(chat()), Decision, Again)
""")


def test_other_enum_or_text_differs() -> None:
    ignore = module.decision("ignore")
    assert ignore == module.Decision.IGNORE
    assert ignore != module.decision("delegate")
    assert ignore != "ignore"
    with pytest.raises(ValueError, match="perhaps"):
        module.decision("perhaps")


def test_type_hints_can_be_evaluated() -> None:
    run("""
from typing import get_type_hints
from genie_core.execution import Decided, Execution
from genie_core.reasoner import Response
for each in (Decided, Response, Execution.stream):
    assert get_type_hints(each)
assert "group_sense" not in sys.modules
""")


def test_package_exports_no_other_names() -> None:
    import genie_core.agent

    assert not hasattr(genie_core.agent, "Decisions")
