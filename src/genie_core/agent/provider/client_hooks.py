"""Prepare a provider's client: mend its responses, and report its retries.

The hooks of its HTTP client see each response before an SDK does.
"""

import sys
from http import HTTPStatus
from typing import Any, Final

from genie_core.agent.provider.failures import seconds_in
from genie_core.agent.provider.mended_response import mend
from genie_core.errors import wait_in_words
from genie_core.runtime.progress import doing
from genie_core.runtime.threads import in_thread

LONGEST_RETRY: Final = 30.0
"""Seconds that a service may have a request wait; after a longer wait, people had better ask."""

_TRIED_AGAIN: Final = frozenset({408, 409, 429})
_FIRST_FAULT: Final = 500


def prepare_client(client: Any) -> None:
    """Install the hooks, if the client's SDK has them.

    The last refusal is reported as well, right before the request fails.
    """
    hooks = getattr(getattr(client, "_client", None), "event_hooks", None)
    if not isinstance(hooks, dict) or _check_response in hooks.get("response", ()):
        return
    client._client.event_hooks = {  # noqa: SLF001 - the SDKs have no other way to see attempts
        **hooks,
        "request": [*hooks.get("request", ()), _ask_uncompressed],
        "response": [*hooks.get("response", ()), _check_response],
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


async def _ask_uncompressed(request: Any) -> None:
    request.headers["Accept-Encoding"] = "identity"  # a compressed response could not be mended


async def _check_response(response: Any) -> None:
    status = response.status_code
    if status in _TRIED_AGAIN or status >= _FIRST_FAULT:
        _report_retry(response)
    elif response.is_success and response.request.method == "POST":
        doing("asking")
        mend(response)


def _report_retry(response: Any) -> None:
    """Report a refusal; one with a long wait is not tried again."""
    seconds = seconds_in(response.headers.get("retry-after")) or 0.0
    if seconds > LONGEST_RETRY:
        response.headers["x-should-retry"] = "false"  # which the SDKs heed
    elif seconds >= 1:
        doing("retrying", f"{_reason(response.status_code)}, again in {wait_in_words(seconds)}")
        return
    doing("retrying", _reason(response.status_code))


def _reason(status: int) -> str:
    try:
        return f"{HTTPStatus(status).phrase.lower()} ({status})"
    except ValueError:
        return f"status {status}"
