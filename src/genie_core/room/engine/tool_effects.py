"""The effects of a tool call, as far as that is known before it runs."""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Reads: TypeAlias = Literal["", "files", "private"]
"""The owner's data that a call reads; a program can read all files."""

EffectKind: TypeAlias = Literal["read", "write", "run", "connect"]


CLAIMS_TO_DESTROY: Final = "it can destroy data"
"""The `claim` of a tool that its server calls destructive."""

DOES: Final[dict[EffectKind, str]] = {
    "read": "reads",
    "write": "writes",
    "run": "runs",
    "connect": "connects to",
}


@dataclass(frozen=True, slots=True)
class ToolEffect:
    """One thing that a call would do to a target.

    For "read" and "write" the target is a path relative to the workspace, "" for the workspace
    itself; for "run" the program and its arguments, quoted for a shell; for "connect" an address
    such as `https://example.org/page`.
    """

    kind: EffectKind
    target: str

    def __str__(self) -> str:
        return f"{DOES[self.kind]} {self.target or 'the workspace'}"


@dataclass(frozen=True, slots=True)
class ToolEffects:
    """All that a call would do.

    `anything`: the call may do more than `known`, for the reason in `why`; no pattern of a rule or
    grant covers that. `private`: it reads files that are sensitive by their names, or other rooms.
    `source` names the texts of others that it reads. `diff` is the change to a file, in the format
    of `diff -u` and in full, and `original` a digest of the file before it. `refusal` says why the
    tool will refuse the call as things stand. `sandbox` names the sandbox of its programs;
    `isolated` ones reach no network. `pattern` is a suggestion for a grant that also covers calls
    like this one; empty if there is none. `is_grantable`: a grant may answer calls like this one.
    `hidden`: it writes hidden files, or reads some that projects don't usually have, so only a rule
    or pattern that names such files allows it. `claim` is a tool server's description of its tool:
    it is shown, and decides nothing. `denied` says which file rules deny to it, and `unheld` the
    files that such rules can't protect once the call runs. `connects`: it reaches hosts that are
    not among `known`.
    """

    known: tuple[ToolEffect, ...] = ()
    anything: bool = False
    why: str = ""
    private: bool = False
    source: str = ""
    diff: str = ""
    original: str = ""
    refusal: str = ""
    sandbox: str = ""
    isolated: bool = False
    pattern: str = ""
    is_grantable: bool = True
    hidden: bool = False
    claim: str = ""
    denied: str = ""
    unheld: str = ""
    connects: bool = False

    @property
    def reads(self) -> Reads:
        """The owner's data that the call reads."""
        if self.private:
            return "private"
        return "files" if self.targets("read", "run") else ""

    def targets(self, *kinds: EffectKind) -> tuple[str, ...]:
        return tuple(each.target for each in self.known if each.kind in kinds)


UNKNOWN_EFFECTS: Final = ToolEffects(anything=True, why="the tool is not built in")
