"""Keep known secrets out of tool results for a model."""

from typing import Any

from genie_core.privacy.redaction import mask_value


def masked(result: Any) -> Any:
    """Return a tool's result with known secrets hidden; the same object if it has none.

    An object with a secret becomes the JSON value that the model would have read.
    """
    if result is None or isinstance(result, str | int | float | bytes):
        return mask_value(result)
    from pydantic_core import to_jsonable_python  # the offline helper's tools return text

    try:
        plain = to_jsonable_python(result, fallback=repr, bytes_mode="base64")
    except Exception:  # noqa: BLE001 - a result that can't be written down reaches no model either
        return result
    hidden = mask_value(plain)
    return result if hidden == plain else hidden
