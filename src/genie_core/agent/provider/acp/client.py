"""The messages of an agent program, and the run or session that each concerns."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

from acp.exceptions import RequestError
from acp.schema import (
    CreateTerminalRequest,
    KillTerminalRequest,
    PermissionOption,
    ReadTextFileRequest,
    ReleaseTerminalRequest,
    RequestPermissionRequest,
    SessionNotification,
    TerminalOutputRequest,
    WaitForTerminalExitRequest,
    WriteTextFileRequest,
)
from pydantic import BaseModel, ValidationError

from genie_core.agent.provider.acp.offered_tools import OfferedTool
from genie_core.agent.provider.acp.run import Run, cancelled

log = logging.getLogger(__name__)

_OF_SESSION: Final = frozenset(
    {"current_mode_update", "config_option_update", "available_commands_update"}
)
"""Updates that may come between runs."""

_REQUESTS: Final[Mapping[str, tuple[type[Any], Callable[[Run, Any], Awaitable[Any]]]]] = {
    "fs/read_text_file": (ReadTextFileRequest, Run.read),
    "fs/write_text_file": (WriteTextFileRequest, Run.write),
    "terminal/create": (CreateTerminalRequest, Run.create_terminal),
    "terminal/output": (TerminalOutputRequest, Run.terminal_output),
    "terminal/wait_for_exit": (WaitForTerminalExitRequest, Run.wait_for_terminal),
    "terminal/kill": (KillTerminalRequest, Run.kill_terminal),
    "terminal/release": (ReleaseTerminalRequest, Run.release_terminal),
}
"""Requests of a run: their parameters, and the method that answers."""

Params = TypeVar("Params", bound=BaseModel)


class Client:
    """Handles the messages of a program; those of no run are dropped.

    While a session is loaded, the program repeats all of it, which is dropped as well. `settle`
    takes updates that concern the whole session, also between runs; False for all others.
    """

    def __init__(self, settle: Callable[[Any], bool] = lambda _: False) -> None:
        self.run: Run | None = None
        self._settle = settle

    async def __call__(self, method: str, params: Any, is_notification: bool) -> Any:  # noqa: FBT001 - as the SDK calls it
        if is_notification:
            if method == "session/update":
                self._update(params)
            return None
        if method == "session/request_permission":
            asked = _parsed(RequestPermissionRequest, _without_bad_options(params))
            run = self._run_of(asked.session_id)
            return await run.permit(asked) if run else cancelled()
        if method not in _REQUESTS:
            raise RequestError.method_not_found(method)
        kind, answer = _REQUESTS[method]
        request = _parsed(kind, params)
        return await answer(self._known(request.session_id), request)

    async def call(self, tool: OfferedTool, arguments: dict[str, Any]) -> Any:
        """Make a call of a tool of ours in the run that is in progress. Raises `RequestError`."""
        run = self.run
        if run is None or not run.open:
            raise RequestError(-32000, "the room's tools work only while a request is answered")
        return await run.call(tool, arguments)

    def _update(self, params: Any) -> None:
        if not isinstance(params, dict) or not isinstance(update := params.get("update"), dict):
            return
        kind = update.get("sessionUpdate")
        run = self._run_of(params.get("sessionId"))
        if run is None and kind not in _OF_SESSION:
            return
        try:
            notification = SessionNotification.model_validate(params)
        except (ValidationError, RecursionError):
            log.debug("an update of an agent program is not understood: %.100r", kind)
            return
        if not self._settle(notification.update) and run is not None:
            run.take(notification.update)

    def _run_of(self, session: Any) -> Run | None:
        run = self.run
        return run if run is not None and run.open and run.session == session else None

    def _known(self, session: str) -> Run:
        if (run := self._run_of(session)) is None:
            raise RequestError(-32602, f"no run of session {session!r} is in progress")
        return run


def _parsed(kind: type[Params], params: Any) -> Params:
    try:
        return kind.model_validate(params)
    except (ValidationError, RecursionError):
        raise RequestError.invalid_params({"details": "the parameters are not valid"}) from None


def _without_bad_options(params: Any) -> Any:
    """Drop options of an unknown form or kind: the others can still be chosen."""
    if not isinstance(params, dict):
        return params
    options = []
    for each in params.get("options") or ():
        try:
            options.append(PermissionOption.model_validate(each))
        except ValidationError:
            continue
    return {**params, "options": options}
