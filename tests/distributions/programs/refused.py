"""Mistakes that a type checker has to find: `--strict` reports an ignore without an error."""

import genie_core
from genie_core import Agent, AgentInput, GroupSession, Message, room


class Mute(Agent):
    def get_new_messages(self) -> list[str]:
        return []


def mistakes(session: GroupSession) -> object:
    Mute()  # type: ignore[abstract]
    session.messages.append(Message("hi", "alice"))  # type: ignore[attr-defined]
    session.messages[0] = Message("hi", "alice")  # type: ignore[index]
    session.handle("hi")  # type: ignore[arg-type]
    AgentInput()  # type: ignore[call-arg]
    room.Nonsense  # type: ignore[attr-defined]  # noqa: B018
    return genie_core.Nonsense  # type: ignore[attr-defined]
