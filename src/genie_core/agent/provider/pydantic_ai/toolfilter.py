"""Choose which tools of a toolset an agent gets."""

from dataclasses import dataclass
from typing import Any

from pydantic_ai.tools import RunContext, ToolDefinition


@dataclass(slots=True)
class ToolFilter:
    """Admits a tool if it is in `included`, when given, and not in `excluded`.

    Pass it to `AbstractToolset.filtered()`.
    """

    included: list[str] | None = None
    excluded: list[str] | None = None

    def __call__(self, _ctx: RunContext[Any], tool_def: ToolDefinition) -> bool:
        if self.included is not None and tool_def.name not in self.included:
            return False
        return self.excluded is None or tool_def.name not in self.excluded
