"""The texts of the offline helper: tool results, and its abilities."""

import re
from collections.abc import Collection, Mapping
from typing import Final

from genie_core.assistant.known_programs import find_programs
from genie_core.assistant.models.discover import offers_for
from genie_core.assistant.offline.calls import CallResult
from genie_core.assistant.offline.requests import PlannedCall
from genie_core.assistant.tools.catalog import CHAT_TOOLS, COMMAND_TOOLS, FILE_TOOLS

_ABILITIES: Final = (
    ("search_chat", "search this chat: *search this chat for invoice*"),
    ("summarise_chat", "pick out the key sentences: *summarise the last 20 messages*"),
    ("calculate", "calculate: *what is 15% of 80?*"),
    ("list_files", "list the workspace folder: *list the files*"),
    ("read_file", "show a file: *show me lines 1 to 20 of notes.md*"),
    ("search_files", "search the files: *which files contain TODO?*"),
    ("write_file", "write a new file: *@genie write buy milk to shopping.md*"),
    ("run_command", "run a program in the workspace folder: *@genie run git status*"),
    ("fetch_url", "read a web page: *@genie fetch https://example.org*"),
)
_HELP: Final = re.compile(
    r"(?:@?(?:genie|system)[,:]?\s*)?(?:help|what (?:can|do) you (?:do|know|understand))\W*",
    re.IGNORECASE,
)
HOW_TO_CONFIGURE: Final = (
    "To talk to a language model instead, choose one with `/model`, for example `/model openai:…` "
    "or `/model ollama:…`. To keep it, start with `--model`, set `GENIE_MODEL`, or set `model` "
    "in the settings file."
)


def found_here(keys: Mapping[str, str], path: str) -> str:
    """Return a line that says how to use the key or the agent program that is there; else "".

    `keys` are variables and stored secrets, `path` is where programs are found. All members read
    it: it names the provider or the program, and nothing else of this machine.
    """
    for offer in offers_for(keys):
        provider = offer.choice.name.partition(":")[0]
        return f"There is a key for {provider} here: `/model {offer.choice.name}` uses it."
    for program in find_programs(path):
        return f"{program.label} is installed here: `/settings` lets it answer."
    return ""


def from_result(result: CallResult) -> str:
    """Report a tool's result, a denial or a failure."""
    if result.outcome == "denied":
        return f"I did not use `{result.tool}`. {result.text}"
    if result.outcome == "failed":
        return f"`{result.tool}` failed: {result.text}"
    return result.text


def introduction(tools: Collection[str], found: str = "") -> str:
    """List the helper's abilities with these tools, and how to set up a model; see `found_here`."""
    able = "\n".join(f"- {ability}" for tool, ability in _ABILITIES if tool in tools)
    return (
        "I am the offline helper: no language model is configured, and I understand only a few "
        f"kinds of request. I can\n\n{able}\n\n{HOW_TO_CONFIGURE}" + _paragraph(found)
    )


def not_understood(found: str = "") -> str:
    """Decline a request that the helper does not understand, and lead to a model."""
    return (
        "I did not understand that: I am the offline helper, without a language model.\n\n"
        "To choose a model or an agent, type `/settings` or `/model NAME`. *@genie help* lists "
        "what I can do without one." + _paragraph(found)
    )


def _paragraph(line: str) -> str:
    return f"\n\n{line}" if line else ""


def asks_for_help(question: str) -> bool:
    """Whether a request asks for the helper's abilities."""
    return bool(_HELP.fullmatch(question.strip()))


def unavailable(call: PlannedCall) -> str:
    """Decline a request whose tool is not available."""
    if call.tool in CHAT_TOOLS:
        return "I cannot search the chat: I have no access to its messages."
    if call.tool not in (*FILE_TOOLS, *COMMAND_TOOLS):
        return f"I cannot do that here: the tool `{call.tool}` is not available."
    action = "run programs" if call.tool in COMMAND_TOOLS else "use files"
    return (
        f"I cannot {action}: no workspace folder is set. Set one with `/settings`, or start with "
        "`--workspace FOLDER`."
    )
