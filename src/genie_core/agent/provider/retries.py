"""Report the retries of a provider's client, which are silent otherwise."""

from http import HTTPStatus
from typing import Any, Final

from genie_core.runtime.progress import doing

_TRIED_AGAIN: Final = frozenset({408, 409, 429})
_FIRST_FAULT: Final = 500


def tell_of_retries(client: Any) -> None:
    """Report refusals that lead to a retry, if the client's SDK has hooks.

    The last refusal is reported as well, right before the request fails.
    """
    hooks = getattr(getattr(client, "_client", None), "event_hooks", None)
    if not isinstance(hooks, dict) or _report in hooks.get("response", ()):
        return
    client._client.event_hooks = {  # noqa: SLF001 - the SDKs have no other way to see attempts
        **hooks,
        "response": [*hooks.get("response", ()), _report],
    }


async def _report(response: Any) -> None:
    status = response.status_code
    if status in _TRIED_AGAIN or status >= _FIRST_FAULT:
        doing("retrying", _reason(status))
    elif response.is_success and response.request.method == "POST":
        doing("asking")


def _reason(status: int) -> str:
    try:
        return f"{HTTPStatus(status).phrase.lower()} ({status})"
    except ValueError:
        return f"status {status}"
