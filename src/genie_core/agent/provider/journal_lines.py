"""The journal of an agent whose messages have pydantic-ai's form, without importing pydantic-ai."""

from typing import Any


def messages_in(state: Any) -> list[Any]:
    """Return the messages of a state, which is one object with all `messages`, or of a journal.

    A journal is a list of such objects that each keep the first `keep` messages (all by default) and
    add their own. A bare message in the list is appended, as in files of older programs.

    Raises:
        ValueError: it is neither.
    """
    values: list[Any] = []
    try:
        for line in [state] if isinstance(state, dict) else state:
            if "kind" in line:
                values.append(line)
            else:
                values[line.get("keep", len(values)) :] = line["messages"]
    except (AttributeError, LookupError, TypeError) as error:
        raise ValueError(
            "not the history of an agent on pydantic-ai; use the kind of agent that saved it, "
            "or another session id"
        ) from error
    return values
