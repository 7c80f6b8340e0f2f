"""A tool server on the MCP SDK, with everything that one can offer, on stdio or HTTP.

It speaks the protocol of 2026, in which a server asks its client by the results of calls.
"""

from typing import Annotated

from mcp.server.mcpserver import Context, Elicit, ElicitationResult, MCPServer, Resolve, Sample
from mcp.types import CreateMessageResult, SamplingMessage, TextContent
from pydantic import BaseModel, Field


class Person(BaseModel):
    name: str = Field(title="Your name")
    age: int = 3


def who() -> Elicit[Person]:
    return Elicit("Who are you?", Person)


def word() -> Sample:
    said = SamplingMessage(role="user", content=TextContent(type="text", text="Say a word"))
    return Sample([said], max_tokens=100, system_prompt="Be short.")


def made(port: int = 0) -> MCPServer:
    server = MCPServer("modern")

    @server.tool()
    def ask(answer: Annotated[ElicitationResult[Person], Resolve(who)]) -> str:
        """Ask who it is."""
        return answer.model_dump_json()

    @server.tool()
    async def ask_now(ctx: Context) -> str:
        """Ask who it is, in the way of earlier protocols."""
        return (await ctx.elicit("Who are you?", Person)).model_dump_json()

    @server.tool()
    def sample(answer: Annotated[CreateMessageResult, Resolve(word)]) -> str:
        """Use the model."""
        return answer.model_dump_json()

    @server.resource("note://one", description="The first note.")
    def one() -> str:
        return "buy milk"

    @server.resource("note://by/{name}")
    def by(name: str) -> str:
        return f"by {name}"

    @server.prompt()
    def review(code: str, style: str = "short") -> str:
        """Review some code."""
        return f"Review this in a {style} way: {code}"

    return server


if __name__ == "__main__":
    made().run("stdio")
