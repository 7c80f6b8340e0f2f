"""Prepare a provider's client: report its retries, which are silent otherwise."""

import sys
from http import HTTPStatus
from typing import Any, Final

from genie_core.runtime.progress import doing
from genie_core.runtime.threads import in_thread

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


async def know_platform(client: Any) -> None:
    """Tell an SDK's client the name of its platform, which it sends with each request.

    It would find it out in the default executor, which a program may have filled.
    """
    if getattr(client, "_platform", "") is not None:  # it knows, or is of another kind
        return
    for module in (sys.modules[each.__module__] for each in type(client).__mro__):
        if (find := getattr(module, "get_platform", None)) is not None:
            client._platform = await in_thread(find)  # noqa: SLF001 - the SDKs have no other way
            return


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
