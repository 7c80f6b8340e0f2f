"""Effects of commands about the own engine: models, options, costs, jobs, auto mode, undoing."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from genie_core.message import SYSTEM
from genie_core.room.client.model import EngineState
from genie_core.room.commands.arguments import BudgetRaise, OptionChoice
from genie_core.room.commands.outcome import NotDone, Outcome, Question, Result
from genie_core.room.engine.controls import AgentSummary, EngineControls, JobInfo
from genie_core.room.engine.restart_backlog import BacklogChoice
from genie_core.room.view.costs import budget_line, cost_rows, tokens_of
from genie_core.runtime.agent_options import MODE, MODEL, AgentOption, of_category
from genie_core.text.format import clock_time, counted, money, short_count
from genie_core.text.safe import visible, visible_line

if TYPE_CHECKING:
    from genie_core.room.participant.room import JoinedRoom

NO_AGENT: Final = "You have no agent of your own in this room; the host's agent answers you."
NOT_STARTED: Final = "Your agent reports its options when it starts. Send it a message first."
NO_OPTIONS: Final = "This agent has no modes. Some installed agents do: see docs/agents.md."
LISTED: Final = "/mode lists its options."
ASK_MODE: Final = (
    "Your agent is known to ask before it changes or runs anything in the mode {0}. In another one it "
    "may do so without asking you, and no rule of yours can prevent it."
)
LOADING: Final = "Your agent is still loading. Try again in a moment."
AGAIN: Final = "/model NAME loads another model, /model offline the helper that needs none."
HOW: Final = "/model NAME switches to another one, /model offline to the helper that needs none."

COMPACTS: Final = "Your agent summarises its conversation before its next answer."
COMPACT_OFFLINE: Final = "The offline helper keeps no conversation to summarise."
COMPACT_PROGRAM: Final = (
    "Your agent is a program of its own. If it has such a command: @genie /compact"
)

NO_MONEY_LIMIT: Final = "This session has no spending limit."
NO_COUNT_LIMIT: Final = "This session has no token limit."
NO_COSTS: Final = "No model has been used in this room yet."

ASK_AUTO: Final = (
    "Whatever your agents want to do for your own messages is then done at once: they write files, "
    "run programs and reach the network without asking you.\n\n"
    "What a rule of yours denies stays denied, and what they want to do for others is still asked. "
    "It ends with this session, or by /auto off."
)
NO_ENGINE: Final = "You have no agent here, so there are no calls to allow."
NOTHING_RUNS: Final = "No agent is running for you."
NONE_WAITING: Final = "No earlier messages are waiting."

NO_JOBS: Final = "Your agents run no commands in the background."
STOP_JOB: Final = "/jobs stop N ends one of them and all that it started."
LIST_JOBS: Final = "/jobs lists them."
MOST_SHOWN: Final = 80
"""Characters of a job's command, and of its last line, that are listed."""

MOST_LISTED: Final = 12
"""Values of an option that are listed together."""

NOT_TAKEN: Final = {
    EngineState.LOADING: "Your agent is still loading. Answer again in a moment.",
    EngineState.FAILED: "Your agent failed to load. /model NAME loads it again.",
}


def controls_of(joined: "JoinedRoom") -> EngineControls:
    """Return the controls of the own engine. Raises `NotDone` if there is none."""
    if joined.engine.controls is not None:
        return joined.engine.controls
    match joined.engine.status.state:
        case EngineState.LOADING:
            raise NotDone(LOADING)
        case EngineState.FAILED:
            detail = visible_line(joined.engine.status.detail)
            raise NotDone(f"Your engine failed: {detail}\n{AGAIN}")
        case _:
            raise NotDone(NO_AGENT)


# -- models and options


async def model(joined: "JoinedRoom", name: str = "") -> Outcome:
    """Use another model, or show the models in use."""
    controls = joined.engine.controls
    offered = of_category(controls.options.options, MODEL) if controls is not None else None
    if offered is not None and name and (offered.choice(name) or ":" not in name):
        return _set_option(joined, offered, name)
    if name:
        return await _use_model(joined, name)
    return Result(models_in_use(controls_of(joined)), "Models in use")


async def _use_model(joined: "JoinedRoom", name: str) -> Outcome:
    from genie_core.assistant.models.discover import is_running  # imports an HTTP client

    label = visible_line(await joined.engine.use_model(name))
    controls = joined.engine.controls
    acts = controls is not None and _is_program(controls)
    said = (
        f"{label} decides now what your agent answers." if acts else f"Your agent now uses {label}."
    )
    server = controls.model_server if controls is not None else ""
    if server and not await is_running(server):
        said += f"\nNo server answers at {visible_line(server)} yet. Start it first."
    return Result(said)


def models_in_use(controls: EngineControls) -> str:
    """Return the model of each part of an engine, a line for each, and how to change it."""
    lines = [*map(_agent_line, controls.agents)]
    if (offered := of_category(controls.options.options, MODEL)) is not None:
        lines.append(_option_line(offered))
    return "\n".join([*lines, HOW])


def mode(joined: "JoinedRoom", chosen: OptionChoice) -> Outcome:
    """Set an option of the agent program, by default its mode, or list its options."""
    controls, name, value = controls_of(joined), chosen.name, chosen.value
    options = controls.options.options
    if not options:
        raise NotDone(NOT_STARTED if _is_program(controls) else NO_OPTIONS)
    modes = of_category(options, MODE)
    named = next((each for each in options if each.is_named(name)), None)
    if not name:
        return _listed(options)
    if value and named is not None:
        return _set_option(joined, named, value)
    if not value and modes is not None and modes.choice(name):
        return _set_option(joined, modes, name)
    if not value and named is not None:
        return _listed([named])
    raise NotDone(f"Your agent has no mode or option {visible_line(name)}. {LISTED}")


def _set_option(joined: "JoinedRoom", option: AgentOption, name: str) -> Outcome:
    choice = option.choice(name)
    if choice is None:
        raise NotDone(f"{visible_line(name)} is none of them. {_option_line(option)}")

    def use() -> Outcome:
        controls_of(joined).options.choose(option.id, choice.value)
        return Result(visible_line(f"{option.name}: {choice.name}, from the next request on."))

    if option.asking and choice.value not in option.asking:
        title = f"Use the mode {visible_line(choice.name)}?"
        return Question(title, ASK_MODE.format(visible_line(option.asking[0])), "use it", use)
    return use()


def compact(joined: "JoinedRoom", _: None = None) -> Outcome:
    """Have the agent's conversation summarised before its next answer."""
    controls = controls_of(joined)
    if _is_program(controls):
        raise NotDone(COMPACT_PROGRAM)
    if not controls.model:
        raise NotDone(COMPACT_OFFLINE)
    controls.compact()
    return Result(COMPACTS)


# -- costs


def cost(joined: "JoinedRoom", _: None = None) -> Outcome:
    """List the costs of each person and agent."""
    lines = [
        f"{'  ' * row.depth}{row.name}: {counted(row.usage.requests, 'request')}, "
        f"{short_count(tokens_of(row.usage))} tokens, {money(row.usage.cost, partly=row.partly)}"
        for row in cost_rows(joined.state.costs)
    ]
    return Result("\n".join(lines) or NO_COSTS, "Cost")


def budget(joined: "JoinedRoom", more: BudgetRaise) -> Outcome:
    """Show the used part of the budget, or raise the budget."""
    return Result(_budget_text(joined.engine.controls, more), "Budget")


def _budget_text(controls: EngineControls | None, more: BudgetRaise) -> str:
    if controls is None:
        return budget_line(None)
    if more.money and not controls.allowance.money_limit:
        return NO_MONEY_LIMIT
    if more.tokens and not controls.allowance.token_limit:
        return NO_COUNT_LIMIT
    if more.money or more.tokens:
        return budget_line(controls.raise_budget(money=more.money, tokens=more.tokens))
    return budget_line(controls.allowance)


# -- running work


def auto(joined: "JoinedRoom", on: bool) -> Outcome:  # noqa: FBT001 - the command's one argument
    """Turn auto mode off, or on if the person confirms it."""
    status = joined.engine.status
    if status.state is not EngineState.READY:
        raise NotDone(NO_ENGINE)
    if on == status.auto:
        return Result(f"Auto mode is {'on' if on else 'off'} already.")
    if on:
        turn_on = partial(_turn_auto_on, joined)
        return Question("Allow all calls without asking you?", ASK_AUTO, "turn it on", turn_on)
    joined.engine.set_auto(on=False)
    return Result("Auto mode is off: tool calls need your approval again.")


def _turn_auto_on(joined: "JoinedRoom") -> None:
    if not joined.engine.set_auto(on=True):
        raise NotDone(NO_ENGINE)


async def jobs(joined: "JoinedRoom", number: int = 0) -> Outcome:
    """List the commands in the background, or stop the one with this number."""
    controls = controls_of(joined)
    if not number:
        lines = [*map(_job_line, controls.jobs)]
        return Result("\n".join([*lines, STOP_JOB]) if lines else NO_JOBS, "Background commands")
    if not await controls.stop_job(number):
        raise NotDone(f"No job {number} is running. {LIST_JOBS}")
    return Result(f"Job {number} and all that it started are stopped.")


def backlog(joined: "JoinedRoom", choice: BacklogChoice) -> Outcome:
    """Answer messages from before the room was resumed, or leave them unanswered."""
    answered = joined.engine.choose(choice)
    if answered is None:
        raise NotDone(NOT_TAKEN.get(joined.engine.status.state, NONE_WAITING))
    if answered:
        return Result(f"Answering {counted(answered, 'message')} from before.")
    return Result("The earlier messages stay unanswered; the log says so.")


def stop(joined: "JoinedRoom", _: None = None) -> Outcome:
    """Stop all agents that run for this person."""
    return None if joined.engine.stop() else Result(NOTHING_RUNS)


async def undo(joined: "JoinedRoom", file: str = "", approval: str = "") -> Outcome:
    """Undo the latest change of a file, or that of one tool call, if the person confirms it.

    Raises a `GenieError` if nothing can be undone.
    """
    controls = controls_of(joined)
    plan = await controls.plan_undo(file, approval)
    name, time = visible_line(plan.name), clock_time(plan.at)
    title, yes, done = (
        (f"Delete {name}, created at {time}?", "delete it", f"{name} is deleted.")
        if plan.deletes
        else (
            f"Undo the change of {name} at {time}?",
            "undo it",
            f"The change of {name} at {time} is undone.",
        )
    )

    async def act() -> Outcome:
        await controls.undo(plan.number)
        return Result(done)

    return Question(title, visible(plan.diff), yes, act, is_diff=True)


# -- lines


def _is_program(controls: EngineControls) -> bool:
    """Whether the coordinator is an agent program of its own."""
    return any(each.runtime == "acp" for each in controls.agents[:1])


def _agent_line(info: AgentSummary) -> str:
    name = "genie" if info.name == SYSTEM else visible_line(info.name)
    runtime = f" ({info.runtime})" if info.runtime else ""
    return f"{name}: {visible_line(info.model)}{runtime}"


def _job_line(job: JobInfo) -> str:
    last = f": {job.last[:MOST_SHOWN]}" if job.last else ""
    command = job.command[:MOST_SHOWN]
    return visible_line(f"{job.number} {command}, {clock_time(job.started)}, {job.state}{last}")


def _listed(options: Sequence[AgentOption]) -> Outcome:
    return Result("\n".join(map(_option_line, options)), "Your agent's options")


def _option_line(option: AgentOption) -> str:
    others = [each.value for each in option.choices if each.value != option.value]
    listed = ", ".join(others[:MOST_LISTED])
    more = f" and {len(others) - MOST_LISTED} more" if len(others) > MOST_LISTED else ""
    also = f" (or {listed}{more})" if others else ""
    name = option.name if option.category in (MODE, MODEL) else f"{option.name} [{option.id}]"
    return visible_line(f"{name}: {option.value}{also}")
