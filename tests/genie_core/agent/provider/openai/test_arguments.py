import json
import socket
import warnings
from typing import Any

import pytest

from genie_core.agent.provider.openai.arguments import (
    LONGEST,
    UnfitArguments,
    objections,
    parsed,
)


def test_misfits_are_named_and_shortened() -> None:
    schema = {"properties": {"a": {"type": "integer"}}, "required": ["b"]}
    assert objections(schema, {"b": 1}) == ""
    assert (
        objections(schema, {"a": "x"})
        == "a: 'x' is not of type 'integer'; 'b' is a required property"
    )
    assert len(objections(schema, {"a": "x" * 100_000})) == LONGEST + 1


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"type": "nonsense"},
        {"required": 5},
        {"$ref": "file:///etc/hostname"},
        {"properties": {"a": {"pattern": "^(a+)+$"}}},
        {"patternProperties": {"(": {}}},
    ],
)
def test_unusable_schema_never_objects(schema: dict[str, Any]) -> None:
    assert objections(schema, {"a": "a" * 40 + "b"}) == ""


def test_no_schema_has_anything_fetched() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        listening.setblocking(False)
        host, port = listening.getsockname()
        assert objections({"$ref": f"http://{host}:{port}/"}, {}) == ""
        with pytest.raises(BlockingIOError):
            listening.accept()


@pytest.mark.parametrize("depth", [201, 3_000, 100_000])
def test_arguments_that_go_too_deep_are_unfit(depth: int) -> None:
    with pytest.raises(UnfitArguments, match="too deeply"):
        parsed("tool", '{"a":' * depth + "1" + "}" * depth)


def test_arguments_of_200_levels_are_read() -> None:
    text = '{"a":' * 100 + "[" * 100 + "1" + "]" * 100 + "}" * 100
    assert json.dumps(parsed("tool", text), separators=(",", ":")) == text
