import pytest
from pydantic import BaseModel, ValidationError

from genie_core.agent import Verdict
from genie_core.agent.provider.approval_answer import (
    InvalidArgumentsError,
    complaints,
    denial,
)


def test_the_model_is_told_of_a_denial_and_of_its_reason_if_there_is_one() -> None:
    assert denial(Verdict(approved=False)) == "The user did not allow this tool call."
    told = denial(Verdict(approved=False, reason="not today"))
    assert told == "The user did not allow this tool call. Reason given: not today"


def test_arguments_that_do_not_fit_are_named_with_their_tool() -> None:
    told = str(InvalidArgumentsError("add", "a: not a number"))
    assert told == "the arguments entered by the user do not fit add: a: not a number"


def test_each_argument_that_does_not_fit_is_complained_of_by_its_place() -> None:
    class Order(BaseModel):
        sizes: list[int]
        name: str

    with pytest.raises(ValidationError) as refused:
        Order.model_validate({"sizes": [1, "big"]})
    sizes, name = complaints(refused.value).split("; ")
    assert sizes.startswith("sizes.1: ")
    assert name == "name: Field required"
