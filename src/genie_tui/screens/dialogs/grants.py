"""List a person's grants, and revoke them."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from genie_core.privacy.redaction import mask_known, mask_value
from genie_core.room.client.model import ANY_CALL
from genie_core.room.view.agents import agent_path
from genie_core.room.view.approvals import arguments_line
from genie_core.room.view.wording import quote_of
from genie_core.text.format import clock_time, duration
from genie_core.text.safe import visible_line
from genie_tui.commands.keymap import Keymap, keymap_of
from genie_tui.commands.keys import Scope, bindings
from genie_tui.screens.dialogs.dialog import Dialog
from genie_tui.widgets.keys_line import KeyText, key_list

if TYPE_CHECKING:
    from genie_core.room.engine.grants import Grant
    from genie_core.room.participant.room import JoinedRoom

NOTHING: Final = (
    "You have allowed only single calls in this session.\n\n"
    "On a tool call, {same} allows the same call again, {like} what a pattern covers, {tool} the whole "
    "tool, and {some} the same call for some times or minutes, unless the card says that it is always "
    "asked about. To allow, ask about or deny calls permanently, write a rule in the settings."
)
CALL: Final = 80
"""Characters of a call that a line shows."""

AUTO: Final = "Auto mode is on: calls for your own messages are not asked about. /auto off ends it."


class GrantsScreen(Dialog[None]):
    """Lists the grants of a joined room, and revokes the selected one. All end with the session."""

    class RuleWanted(Message):
        """The person wants a grant to become a rule, as a table of the settings."""

        def __init__(self, rule: dict[str, str]) -> None:
            super().__init__()
            self.rule = rule

    CSS_PATH = "grants.tcss"
    BINDINGS = bindings(Scope.GRANTS)

    def __init__(self, joined: "JoinedRoom", clock: Callable[[], float] = time.time) -> None:
        super().__init__()
        self._joined = joined
        self._clock = clock
        self._shown: list[int] = []

    def compose(self) -> ComposeResult:
        with Vertical(id="grants", classes="dialog"):
            yield Static("Grants in this session", id="grants-title")
            yield Static(AUTO, id="grants-auto", markup=False)
            yield Static(_nothing(keymap_of(self)), id="grants-none", markup=False)
            yield OptionList(id="grants-list", markup=False)
            yield KeyText(_keys(keymap_of(self), grants=True), id="grants-keys")

    def on_mount(self) -> None:
        """Show the grants and update the remaining ones."""
        self._show()
        self._list.focus()
        self.set_interval(1.0, self._show)

    def action_revoke(self) -> None:
        """Revoke the selected grant."""
        place = self._list.highlighted
        if place is None or not 0 <= place < len(self._shown):
            return
        if not self._joined.approvals.grants.revoke(self._shown[place]):
            self.notify("That grant had already ended.")
        self._show()

    def action_make_rule(self) -> None:
        """Ask the app to write a rule that allows the same from now on."""
        grants = {grant.id: grant for grant in self._joined.approvals.grants.active}
        place = self._list.highlighted
        if place is None or not 0 <= place < len(self._shown):
            return
        grant = grants.get(self._shown[place])
        rule = grant.as_rule() if grant is not None else None
        if rule is None:
            self.notify("Only patterns and whole tools can become rules.", severity="warning")
        else:
            self.post_message(self.RuleWanted(rule))

    def action_close(self) -> None:
        _ = self.dismiss()

    def action_cursor_up(self) -> None:
        self._list.action_cursor_up()

    def action_cursor_down(self) -> None:
        self._list.action_cursor_down()

    @property
    def _list(self) -> OptionList:
        return self.query_one(OptionList)

    def _lines(self, grant: "Grant", now: float) -> Content:
        message = self._joined.state.threads.get(grant.message)
        if message is None or not message.said.text:
            return grant_lines(grant, now)
        return grant_lines(grant, now, quote_of(message.text, message.said.text, CALL))

    def _show(self) -> None:
        grants, now = list(self._joined.approvals.grants.active), self._clock()
        self.set_class(not grants, "-none")
        self.query_one(KeyText).update(_keys(keymap_of(self), grants=bool(grants)))
        self.set_class(self._joined.engine.status.auto, "-auto")
        place = self._list.highlighted
        if [grant.id for grant in grants] != self._shown:
            selected = self._shown[place] if place is not None and self._shown else None
            self._shown = [grant.id for grant in grants]
            self._list.set_options([Option(self._lines(grant, now)) for grant in grants])
            if grants:
                fallback = min(place or 0, len(grants) - 1)
                kept = self._shown.index(selected) if selected in self._shown else fallback
                self._list.highlighted = kept
            return
        for number, grant in enumerate(grants):
            self._list.replace_option_prompt_at_index(number, self._lines(grant, now))


def grant_lines(grant: "Grant", now: float, quote: str = "") -> Content:
    """Describe a grant: tool, agent, person, scope, last use, and the quoted message that led to it."""
    return Content.assemble(
        visible_line(agent_path(grant.agent)),
        (" may repeat " if _is_one_call(grant) else " may call ", "$foreground-muted"),
        (visible_line(grant.tool), "bold $text-primary"),
        f" {_reach(grant)}",
        (" for ", "$foreground-muted"),
        visible_line(grant.person),
        "\n  ",
        (
            f"{_left(grant, now)} · {_use(grant)}{f' · for {quote}' if quote else ''}",
            "$foreground-muted",
        ),
    )


def _is_one_call(grant: "Grant") -> bool:
    return grant.covers != ANY_CALL and not grant.covers


def _reach(grant: "Grant") -> str:
    if grant.covers == ANY_CALL:
        return "with any arguments"
    if grant.covers:
        return f"for {visible_line(grant.covers)}"
    known = "; ".join(mask_known(str(each)) for each in grant.effects)
    called = visible_line(known or arguments_line(mask_value(grant.arguments or {})))
    return f"{called[:CALL]}{'…' * (len(called) > CALL)}"


def _left(grant: "Grant", now: float) -> str:
    if grant.left is not None:
        return "once more" if grant.left == 1 else f"{grant.left} times more"
    if grant.until is not None:
        rest = duration(max(grant.until - now, 0.0))
        return f"until {clock_time(grant.until)}, {rest} from now"
    return "until the session ends"


def _use(grant: "Grant") -> str:
    if grant.last_used is None:
        return f"given {clock_time(grant.granted_at)}, not used since"
    times = "once" if grant.used == 1 else f"{grant.used} times"
    return f"used {times}, last {clock_time(grant.last_used)}"


def _keys(keymap: Keymap, *, grants: bool) -> Content:
    """List the keys that do something: without a grant there is none to revoke."""
    return key_list(each for each in keymap.actions(Scope.GRANTS) if grants or each.run == "close")


def _nothing(keymap: Keymap) -> str:
    """Say how to grant more than a single call."""
    names = {
        "same": "allow-same-call",
        "like": "allow-pattern",
        "tool": "allow-tool",
        "some": "allow-for-a-while",
    }
    return NOTHING.format(**{word: keymap.text(Scope.CARD, name) for word, name in names.items()})
