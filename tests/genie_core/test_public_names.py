"""The names of the package itself."""

import re
import subprocess
import sys
from importlib.metadata import version

import pytest

import genie_core
from genie_core import __all__ as names


def test_public_names_load_lazily() -> None:
    code = (
        "import sys, genie_core\n"
        "loaded = [name for name in sys.modules if name.startswith('genie_core.')]\n"
        "assert loaded == [], loaded\n"
        "others = set(genie_core.__all__) - {'Decision'}  # which imports group-sense\n"
        "assert all(getattr(genie_core, name) is not None for name in others)\n"
        "assert not {'pydantic_ai', 'agents', 'openai', 'acp', 'msgspec'} & set(sys.modules)\n"
        "from genie_core import *\n"
        "assert GroupSession.__module__ == 'genie_core.session'\n"
        "assert Decision.__module__.startswith('group_sense')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_name_is_the_one_of_its_module() -> None:
    from genie_core.agent import Approval, Decision
    from genie_core.execution import Answered

    assert genie_core.Approval is Approval
    assert genie_core.Decision is Decision
    assert genie_core.Answered is Answered
    assert sorted(names) == names


def test_a_prompt_can_complete_the_names() -> None:
    assert dir(genie_core) == names


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="module 'genie_core' has no attribute 'Nonsense'"):
        genie_core.Nonsense  # type: ignore[attr-defined]  # noqa: B018


def test_the_version_is_that_of_the_program() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", genie_core.__version__)
    assert version("genie-tui") == genie_core.__version__
