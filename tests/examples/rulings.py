"""What a reasoner's model says."""

import json

from genie_testing.turns import Say


def ignore(reason: str) -> Say:
    return Say(
        json.dumps({"decision": "ignore", "query": None, "receiver": None, "reason": reason})
    )


def delegate(query: str, receiver: str | None = None) -> Say:
    ruling = {"decision": "delegate", "query": query, "receiver": receiver, "reason": "a question"}
    return Say(json.dumps(ruling))
