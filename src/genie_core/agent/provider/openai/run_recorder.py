"""A run's progress so far."""

from typing import Any

from agents import (
    Agent,
    ItemHelpers,
    ModelResponse,
    RunContextWrapper,
    RunHooks,
    Tool,
    TResponseInputItem,
)
from agents.tool_context import ToolContext

from genie_core.agent.provider.openai.attachments import Item
from genie_core.agent.provider.openai.history import result_of, says_nothing


class RunRecorder(RunHooks[Any]):
    """Records responses and tool results as they arrive, for a run that does not finish.

    The SDK drops the current turn of a cancelled run.
    """

    def __init__(self) -> None:
        self._items: list[Any] = []
        self._text = ""

    def items(self) -> list[Any]:
        """Return everything so far, text still being written last."""
        if not self._text:
            return list(self._items)
        return [*self._items, {"role": "assistant", "content": self._text}]

    def heard(self, text: str) -> None:
        """Record part of an incomplete response."""
        self._text += text

    def settle(self, call_id: str, text: str) -> None:
        """Record the result of a call that was not made."""
        result: Item = result_of(call_id, text)
        self._items.append(result)

    async def on_llm_start(
        self,
        context: RunContextWrapper[Any],
        agent: Agent[Any],
        system_prompt: str | None,
        input_items: list[TResponseInputItem],
    ) -> None:
        """Drop the parts of a failed attempt that is being retried."""
        self._text = ""

    async def on_llm_end(
        self, context: RunContextWrapper[Any], agent: Agent[Any], response: ModelResponse
    ) -> None:
        """Replace a response's parts by the complete response."""
        self._text = ""
        items: list[Any] = response.to_input_items()
        self._items += [each for each in items if not says_nothing(each)]

    async def on_tool_end(
        self, context: RunContextWrapper[Any], agent: Agent[Any], tool: Tool, result: object
    ) -> None:
        if isinstance(context, ToolContext) and context.tool_call is not None:
            self._items.append(ItemHelpers.tool_call_output_item(context.tool_call, result))
