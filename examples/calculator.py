"""A tool server with one tool, which `examples.coordinator` starts as a process of its own."""

import operator

from mcp.server import MCPServer

OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}

server = MCPServer("calculator", log_level="ERROR")


@server.tool()
def calculate(left: float, operation: str, right: float) -> float:
    """Combine two numbers with one of the operations + - * /."""
    return float(OPERATORS[operation](left, right))


if __name__ == "__main__":
    server.run()
