"""The modes, options and commands of a program's session."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from acp.schema import (
    AvailableCommandsUpdate,
    ConfigOptionUpdate,
    CurrentModeUpdate,
    LoadSessionResponse,
    NewSessionResponse,
    ResumeSessionResponse,
    SessionConfigOptionBoolean,
    SessionConfigOptionSelect,
    SessionConfigSelectGroup,
    SessionModeState,
    SetSessionConfigOptionBooleanRequest,
    SetSessionConfigOptionResponse,
    SetSessionConfigOptionSelectRequest,
    SetSessionModeRequest,
    SetSessionModeResponse,
)
from pydantic import BaseModel

from genie_core.agent.provider.acp.errors import AgentProgramFailed
from genie_core.agent.provider.acp.process import AgentProcess
from genie_core.runtime.agent_options import MODE, AgentCommand, AgentOption, AgentOptions, Choice
from genie_core.runtime.progress import note

MOST_OPTIONS: Final = 50
MOST_CHOICES: Final = 1_000
MOST_COMMANDS: Final = 200
LONGEST_ID: Final = 200
_LONGEST_TEXT: Final = 120

_BOOLEAN: Final[tuple[Choice, ...]] = (Choice("on", "on"), Choice("off", "off"))

Opened = NewSessionResponse | LoadSessionResponse | ResumeSessionResponse


class SessionSettings:
    """Keeps `options` as the program reports them, and sets a session to the chosen values.

    `asking` are the modes in which the program is known to ask.
    """

    def __init__(self, options: AgentOptions, name: str, asking: Sequence[str]) -> None:
        self._options = options
        self._name = name
        self._asking = tuple(asking)
        self._modes: SessionModeState | None = None
        self._config: Sequence[SessionConfigOptionSelect | SessionConfigOptionBoolean] = ()
        self._applied = -1

    def take(self, update: Any) -> bool:
        """Take an update of options or commands; False for any other."""
        match update:
            case CurrentModeUpdate(current_mode_id=mode):
                self._enter(mode)
                self._report()
            case ConfigOptionUpdate(config_options=options):
                self._config = options
                self._report()
            case AvailableCommandsUpdate(available_commands=commands):
                self._options.commands = tuple(
                    AgentCommand(each.name, _short(each.description))
                    for each in commands[:MOST_COMMANDS]
                    if each.name.isprintable() and 0 < len(each.name) <= LONGEST_ID
                )
            case _:
                return False
        return True

    async def opened(self, process: AgentProcess, session: str, answer: Opened) -> None:
        """Begin a session, in a mode that asks: programs may start in one that does not."""
        self._modes, self._config = answer.modes, answer.config_options or ()
        self._report()
        for option in self._options.known:
            if option.category == MODE and option.id not in self._options.chosen:
                mode = next((each for each in self._asking if option.choice(each)), None)
                if mode is not None and option.value not in self._asking:
                    await self._set(process, session, option, mode)
        self._applied = -1

    async def apply(self, process: AgentProcess, session: str) -> None:
        """Set the session to the values chosen since the last call."""
        if self._applied == self._options.version:
            return
        self._applied = self._options.version
        for option in self._options.known:
            value = self._options.chosen.get(option.id, option.value)
            if value != option.value and option.choice(value):
                await self._set(process, session, option, value)

    async def _set(
        self, process: AgentProcess, session: str, option: AgentOption, value: str
    ) -> None:
        try:
            await self._request(process, session, option.id, value)
        except AgentProgramFailed as error:
            if error.kind not in ("request", "answer"):
                raise
            self._options.chosen.pop(option.id, None)
            said = f"{self._name} stays at {option.name} {option.value}: it refused {value}"
            if option.category == MODE and value in self._asking:
                said = f"{self._name} stays in its mode, in which it may act without asking"
            note(said, f"{said} ({error.detail})")
        self._report()

    async def _request(self, process: AgentProcess, session: str, option: str, value: str) -> None:
        config = next((each for each in self._config if each.id == option), None)
        if config is None and self._modes is not None:
            mode = SetSessionModeRequest(session_id=session, mode_id=value)
            await process.request_within("session/set_mode", mode, SetSessionModeResponse)
            self._enter(value)
            return
        asked: BaseModel = SetSessionConfigOptionSelectRequest(
            session_id=session, config_id=option, value=value
        )
        if isinstance(config, SessionConfigOptionBoolean):
            asked = SetSessionConfigOptionBooleanRequest(
                session_id=session, config_id=option, type="boolean", value=value == "on"
            )
        answer = await process.request_within(
            "session/set_config_option", asked, SetSessionConfigOptionResponse
        )
        self._config = answer.config_options

    def _enter(self, mode: str) -> None:
        """Take over a mode; some programs have it as an option as well."""
        if self._modes is not None:
            self._modes = self._modes.model_copy(update={"current_mode_id": mode})
        self._config = [
            each.model_copy(update={"current_value": mode}) if each.category == MODE else each
            for each in self._config
        ]

    def _report(self) -> None:
        self._options.known = tuple(self._listed())

    def _listed(self) -> Iterator[AgentOption]:
        """Yield the options; a session's modes only if they are not among its options as well."""
        found = [_option(each) for each in self._config[:MOST_OPTIONS]]
        for each in found:
            yield replace(each, asking=self._asking) if each.category == MODE else each
        if self._modes is not None and not any(each.category == MODE for each in found):
            choices = tuple(
                Choice(each.id, _short(each.name)) for each in self._modes.available_modes
            )
            current = self._modes.current_mode_id
            yield AgentOption(MODE, "Mode", MODE, current, choices[:MOST_CHOICES], self._asking)


def _option(option: SessionConfigOptionSelect | SessionConfigOptionBoolean) -> AgentOption:
    category = option.category if isinstance(option.category, str) else ""
    if isinstance(option, SessionConfigOptionBoolean):
        value, choices = "on" if option.current_value else "off", _BOOLEAN
    else:
        value, choices = option.current_value, tuple(_choices(option))[:MOST_CHOICES]
    return AgentOption(option.id, _short(option.name), category, value, choices)


def _choices(option: SessionConfigOptionSelect) -> Iterator[Choice]:
    for each in option.options:
        inner = each.options if isinstance(each, SessionConfigSelectGroup) else [each]
        for one in inner:
            yield Choice(one.value, _short(one.name))


def _short(text: str) -> str:
    return " ".join(text[: 4 * _LONGEST_TEXT].split())[:_LONGEST_TEXT]
