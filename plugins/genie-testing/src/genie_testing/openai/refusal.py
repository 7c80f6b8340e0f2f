"""Errors, in the form in which the real service reports them."""

from typing import Final

from starlette.responses import JSONResponse

from genie_testing.turns import Refuse

_USUAL: Final = {
    400: ("invalid_request_error", "The request could not be understood."),
    401: ("invalid_api_key", "Incorrect API key provided."),
    403: ("unsupported_country_region_territory", "This key may not be used from here."),
    404: ("model_not_found", "The model does not exist or you do not have access to it."),
    429: ("rate_limit_exceeded", "Rate limit reached. Please try again later."),
    500: ("server_error", "The server had an error while processing your request."),
    503: ("server_overloaded", "The engine is currently overloaded."),
}
_KEPT: Final = 4


def refusal(turn: Refuse) -> JSONResponse:
    """Return an error, with the usual text for its status where the turn has none."""
    code, message = _USUAL.get(turn.status, ("unknown", f"Refused with status {turn.status}."))
    code = turn.code or code
    kind = "invalid_request_error" if turn.status in {400, 401, 404} else code
    error = {"message": turn.message or message, "type": kind, "param": None, "code": code}
    return JSONResponse({"error": error}, turn.status, _retry_headers(turn.retry_after))


def wrong_key(key: str) -> Refuse:
    """Refuse a key, identifying it without repeating it."""
    if not key:
        return Refuse(401, "You didn't provide an API key, as a bearer token.")
    return Refuse(401, f"Incorrect API key provided: {_masked(key)}.")


def unknown_model(model: str) -> Refuse:
    return Refuse(404, f"The model `{model}` does not exist or you do not have access to it.")


def incomplete_history(call_ids: list[str]) -> Refuse:
    """Refuse a conversation in which calls and results don't match."""
    return Refuse(
        400,
        "Every tool call must be followed by its result, and every result must have its call. "
        f"These ids have only one of the two: {', '.join(call_ids)}",
    )


def unknown_item(item_id: str) -> Refuse:
    """Refuse a conversation that refers to an item that is not stored."""
    return Refuse(
        404,
        f"Item with id '{item_id}' not found. Items are not persisted when `store` is set to false. "
        "Try again with `store` set to true, or remove this item from your input.",
        "invalid_request_error",
    )


def _masked(key: str) -> str:
    if len(key) <= 2 * _KEPT:
        return "*" * len(key)
    return f"{key[:_KEPT]}{'*' * (len(key) - 2 * _KEPT)}{key[-_KEPT:]}"


def _retry_headers(seconds: float | None) -> dict[str, str]:
    if seconds is None:
        return {}
    return {"retry-after": f"{seconds:g}", "retry-after-ms": f"{seconds * 1000:g}"}
