import pytest
from pydantic import BaseModel, ValidationError

from genie_core.agent import Verdict
from genie_core.agent.provider.approval_answer import (
    InvalidArgumentsError,
    complaints,
    denial,
)


def test_model_learns_denial_and_reason() -> None:
    assert denial(Verdict(approved=False)) == "The user did not allow this tool call."
    told = denial(Verdict(approved=False, reason="not today"))
    assert told == "The user did not allow this tool call. Reason given: not today"


def test_unfit_arguments_name_tool() -> None:
    told = str(InvalidArgumentsError("add", "a: not a number"))
    assert told == "the arguments entered by the user do not fit add: a: not a number"


def test_complaints_name_argument_place() -> None:
    class Order(BaseModel):
        sizes: list[int]
        name: str

    with pytest.raises(ValidationError) as refused:
        Order.model_validate({"sizes": [1, "big"]})
    sizes, name = complaints(refused.value).split("; ")
    assert sizes.startswith("sizes.1: ")
    assert name == "name: Field required"
