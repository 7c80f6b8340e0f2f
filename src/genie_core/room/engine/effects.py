"""What a tool call would do, as far as that is known before it runs."""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Reads: TypeAlias = Literal["", "files", "private"]
"""What a call reads of its owner's data; a program can read all files."""

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

    `anything`: the call may do more than `known`, because of what `why` says; no pattern of a rule
    or grant covers that. `private`: it reads files that are sensitive by their names, or other
    rooms. `source` names what it reads that its owner has not written. `diff` is the change to a
    file, in the format of `diff -u` and in full, and `original` a digest of the file before it.
    `refusal` says why the tool will refuse the call as things stand. `sandbox` says what confines
    the programs that it runs; `isolated` ones reach no network. `pattern` is a suggestion for a
    grant that also covers calls like this one; empty if there is none. `is_grantable`: a grant may
    answer calls like this one. `hidden`: it writes hidden files, or reads some that projects don't
    usually have, so only a rule or pattern that names such files allows it. `claim` is what a tool
    server says that its tool does: it is shown, and decides nothing. `denied` says which file rules
    deny to it, and `unheld` what such rules can't prevent once the call runs. `connects`: it reaches hosts that are not among
    `known`.
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
        """What the call reads of its owner's data."""
        if self.private:
            return "private"
        return "files" if self.targets("read", "run") else ""

    def targets(self, *kinds: EffectKind) -> tuple[str, ...]:
        return tuple(each.target for each in self.known if each.kind in kinds)


UNKNOWN_EFFECTS: Final = ToolEffects(anything=True, why="the tool is not built in")
