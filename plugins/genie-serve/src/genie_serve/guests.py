"""The service's own agent, which answers members without one.

It only writes: it has no tools, and all its requests are denied, as there is no keyboard.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final

from genie_core.assistant.config import Budget
from genie_core.errors import GenieError
from genie_core.room.client.connection import RoomConnection
from genie_core.room.client.events import RoomEvent
from genie_core.room.client.handshake import ClientHandshake
from genie_core.room.client.model import EngineState, EngineStatus
from genie_core.room.engine.approval_policy import PolicyResult, ToolCall
from genie_core.room.engine.config import Engine, EngineLoader
from genie_core.room.engine.tool_effects import ToolEffects
from genie_core.room.open.profile import Profile, engine_config, engine_for
from genie_core.room.participant.config import RoomConfig
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.security.identity import Identity
from genie_core.room.state.snapshot import decode_state, encode_state
from genie_core.room.transport.connection import ClientConnection
from genie_core.runtime.progress import Usage
from genie_core.runtime.tasks import start_task
from genie_core.settings.locations import Locations
from genie_core.settings.model import Settings
from genie_serve.config import GuestsTable
from genie_serve.served_room import ServedRoom

COUNT: Final = 5.0
"""Seconds between two looks at the tokens that are used, and at how long no guest is here."""

AGAIN: Final = 5.0
"""Seconds until an agent tries again to join a room."""

LINGER: Final = 300.0
"""Seconds after the last guest left until the agent leaves, too."""

GRACE: Final = 2.0
"""Seconds that it gets to finish an answer."""

DAY: Final = 86_400.0

USED_UP: Final = (
    "guests are not answered until tomorrow (UTC): the agent for guests has used %d tokens today, "
    "and guests.daily_tokens is %d"
)

DENIED: Final = "the service's agent may only write, and no person is there to allow more"

logger = logging.getLogger(__name__)


class GuestAgents:
    """Joins, as the host, the rooms that guests are in, with an engine that answers them.

    `rooms` are the open ones by their folders. The modules for the model are loaded for the first
    guest. Once a day's tokens are used up, they leave all rooms until the next day.
    """

    def __init__(
        self,
        table: GuestsTable,
        name: str,
        identity: Identity,
        locations: Locations,
        rooms: Mapping[str, ServedRoom],
        clock: Callable[[], float] = time.time,
    ) -> None:
        settings = Settings(model=table.model, tools=(), servers=(), grace=GRACE)
        profile = Profile.of(name, settings, locations)
        self._profile = replace(profile, config=replace(profile.config, servers_file=None))
        self._identity = identity
        self._rooms = rooms
        self._joined: dict[str, JoinedRoom] = {}
        self._alone: dict[str, float] = {}
        self._due: dict[str, float] = {}
        self._changed = asyncio.Event()
        self._looking: asyncio.Task[None] | None = None
        self._quota = DailyTokens(table.daily_tokens, clock)
        self._used: dict[str, int] = {}

    def check(self) -> None:
        """Check the configuration, as far as that takes no SDK. Blocks.

        Raises:
            AssistantError: the model can't be used.
        """
        from genie_core.assistant.check import check_essentials
        from genie_core.assistant.secrets import OwnSecrets
        from genie_core.secrets import secrets_of

        name, places = self._profile.name, self._profile.locations
        check_essentials(self._profile.config, secrets_of(name, OwnSecrets(name, places.secrets)))

    def start(self) -> None:
        self._looking = start_task(self._look_when_due(), name="agents for guests")

    def note_change(self, room: str) -> None:
        """Look at a room whose members changed; before `start`, that is remembered."""
        self._look_at(room, 0.0)
        self._changed.set()

    async def aclose(self) -> None:
        """Leave all rooms."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait([self._looking])
        await asyncio.gather(*map(self.leave, list(self._joined)))

    async def leave(self, room: str) -> None:
        """Leave a room that is about to close."""
        self._alone.pop(room, None)
        joined = self._joined.pop(room, None)
        if joined is not None:
            try:
                await joined.leave()
            except GenieError:
                logger.warning("the agent for guests left %s in disorder", room, exc_info=True)
            self._count(room, joined)
            self._used.pop(room, None)

    def _count(self, room: str, joined: JoinedRoom) -> None:
        """Count the tokens of the agent in a room since the last count last."""
        if (controls := joined.engine.controls) is not None:
            used = controls.allowance.tokens
            self._quota.spend(used - self._used.get(room, 0))
            self._used[room] = used

    def _is_used_up(self) -> bool:
        """Whether no guest is answered today any more."""
        for id_, joined in self._joined.items():
            self._count(id_, joined)
        return self._quota.is_used_up

    async def _rest(self) -> None:
        """Leave all rooms, because the tokens of the day are used up."""
        if self._joined:
            logger.warning(USED_UP, self._quota.used, self._quota.limit)
        for room in list(self._joined):
            try:
                await self.leave(room)
            except Exception:  # one room's failure must not reach the others
                logger.exception("the agent for guests failed in %s", room)

    def _look_at(self, room: str, delay: float) -> None:
        self._due[room] = asyncio.get_running_loop().time() + delay

    async def _look_when_due(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(min(self._due.values(), default=None)):
                    await self._changed.wait()
            self._changed.clear()
            now = asyncio.get_running_loop().time()
            for room in [room for room, at in self._due.items() if at <= now]:
                del self._due[room]
                try:
                    await self._look(room, now)
                except Exception:  # one room's failure must not reach the others
                    logger.exception("the agent for guests failed in %s", room)
                    self._look_at(room, AGAIN)

    async def _look(self, id_: str, now: float) -> None:
        room = self._rooms.get(id_)
        if room is None:
            return
        is_needed = _has_guests(room)
        if self._is_used_up():
            await self._rest()
        elif is_needed:
            self._alone.pop(id_, None)
            if id_ not in self._joined:
                await self._join(id_, room)
        elif id_ in self._joined and now - self._alone.setdefault(id_, now) >= LINGER:
            await self.leave(id_)
        if is_needed or id_ in self._joined:
            self._look_at(id_, COUNT)

    async def _join(self, id_: str, room: ServedRoom) -> None:
        server, saved = room.server, room.saved
        place = asyncio.get_running_loop().create_future()
        place.set_result(saved)
        joined: JoinedRoom

        async def connector() -> ClientConnection:
            return server.connect_local()

        async def put_away(_reason: str = "") -> None:
            """Leave the room open, as the service closes it."""

        head = server.state.head
        before = _tokens(server.state.costs.of(self._profile.name))  # counts for the budget, too
        budget = Budget(tokens=self._quota.left + before if self._quota.limit else 0)
        profile = replace(self._profile, config=replace(self._profile.config, budget=budget))
        loader = _denying(engine_for(profile, place, lambda: joined.state))
        engine = engine_config(profile, loader)
        who = ClientHandshake(
            profile.name,
            self._identity,
            engine=True,
            agent=engine.label,
            room=saved.metadata.id,
            token=server.host_token,
        )
        config = RoomConfig(
            lambda deliver: RoomConnection(connector, deliver, who, since=head, patient=False),
            put_away,
            engine,
            close_room=put_away,
            saved=lambda: saved.id,
            grace=profile.settings.grace,
        )
        joined = JoinedRoom(self._profile.name, _note, config)
        joined.replay((), decode_state(encode_state(server.state)))
        await joined.start()
        self._joined[id_], self._used[id_] = joined, before


class DailyTokens:
    """Counts the tokens of a day, by UTC, against a limit; 0 is none."""

    def __init__(self, limit: int, clock: Callable[[], float] = time.time) -> None:
        self.limit: Final = limit
        self._clock = clock
        self._day = clock() // DAY
        self._used = 0

    @property
    def used(self) -> int:
        """How many were used today."""
        if (today := self._clock() // DAY) != self._day:
            self._day, self._used = today, 0
        return self._used

    @property
    def left(self) -> int:
        """How many may still be used today; 0 without a limit."""
        return max(0, self.limit - self.used)

    @property
    def is_used_up(self) -> bool:
        return self.limit > 0 and self.left == 0

    def spend(self, tokens: int) -> None:
        self._used = self.used + tokens


def _tokens(usage: Usage) -> int:
    return usage.input_tokens + usage.output_tokens


def _has_guests(room: ServedRoom) -> bool:
    if not room.server.room.peers.people:
        return False
    present = room.server.state.present()
    return any(person.role == "guest" and not person.is_agent for person in present)


def _denying(load: EngineLoader) -> EngineLoader:
    async def denying() -> Engine:
        return replace(await load(), policy=DenyAll())

    return denying


class DenyAll:
    """Denies every call of a tool."""

    def evaluate(self, call: ToolCall) -> PolicyResult:
        return PolicyResult("deny", DENIED)

    def is_covered(self, call: ToolCall, effects: ToolEffects, pattern: str) -> bool:
        return False


def _note(event: RoomEvent) -> None:
    """Log the reports of the engine; there is no screen."""
    if isinstance(event, EngineStatus) and event.state is EngineState.FAILED:
        logger.error("the agent for guests can't be loaded: %s", event.detail)
