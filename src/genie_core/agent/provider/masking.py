"""Keeping known secrets out of what a model reads of its tools."""

from typing import Any

from pydantic_core import to_jsonable_python

from genie_core.privacy.redaction import mask_value


def masked(result: Any) -> Any:
    """A tool's result with known secrets hidden; itself if it has none.

    What is no plain value and has one becomes the JSON value that the model would have read.
    """
    if result is None or isinstance(result, str | int | float | bytes):
        return mask_value(result)
    try:
        plain = to_jsonable_python(result, fallback=repr, bytes_mode="base64")
    except Exception:  # noqa: BLE001 - a result that can't be written down reaches no model either
        return result
    hidden = mask_value(plain)
    return result if hidden == plain else hidden
