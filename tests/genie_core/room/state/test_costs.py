import math

import pytest

from genie_core.room.protocol.events import (
    LARGEST_COUNT,
    LARGEST_SPENDING,
    MOST_SPENDINGS,
    NAME_CHARS,
    AnyBody,
    DecisionMade,
    Event,
    MemberJoined,
    MessagePosted,
    RoomCreated,
    Spending,
)
from genie_core.room.state.costs import MOST_KEYS, OTHER, Costs, kind_of, total
from genie_core.room.state.room_state import RoomState
from genie_core.runtime.progress import Usage


def spending(agent: str = "system", tokens: int = 10, cost: float | None = 0.5) -> Spending:
    return Spending(agent, "m", 1, tokens, 1, 0, 2.0, cost)


def test_sums_are_kept_by_payer_agent_and_model() -> None:
    costs = Costs()
    costs.add("ada", [spending("reasoner", 5, 0.25)], silent=True)
    costs.add("ada", [spending(), spending("coder:1a2b3c4d/web:00000001"), spending()])
    costs.add("bob", [spending(cost=None)])
    assert costs.by_key[("ada", "system", "m")] == Usage("m", 2, 20, 2, 0, 4.0, 1.0)
    assert costs.by_key[("ada", "web", "m")].requests == 1
    assert costs.silence == {"ada": Usage("m", 1, 5, 1, 0, 2.0, 0.25)}
    assert costs.of("ada") == Usage("", 4, 35, 4, 0, 8.0, 1.75)
    assert costs.unpriced == {("bob", "system", "m")}
    assert costs.of("nobody") == total([]) == Usage("", requests=0)


def test_an_agent_is_known_by_its_kind() -> None:
    assert kind_of("system") == "system"
    assert kind_of("coder:1a2b3c4d/web:00000001") == "web"
    assert kind_of("") == "reasoner"


@pytest.mark.parametrize("wild", [-1.0, math.nan, math.inf, -math.inf, 1e308])
def test_no_claim_breaks_a_sum(wild: float) -> None:
    costs = Costs()
    costs.add("eve", [Spending("a", "m", -5, -(10**30), 10**30, -1, wild, wild), spending("a")] * 9)
    (usage,) = costs.by_key.values()
    assert 0 <= usage.requests <= LARGEST_COUNT
    assert usage.input_tokens == 90
    assert usage.output_tokens <= 20 * LARGEST_COUNT
    assert 0 <= usage.seconds <= 20 * LARGEST_SPENDING
    assert usage.cost is not None
    assert 0 <= usage.cost <= 20 * LARGEST_SPENDING


def test_a_flood_of_names_is_counted_in_few_sums() -> None:
    costs = Costs()
    for number in range(MOST_KEYS + 50):
        costs.add("eve", [spending(f"agent{number}")])
    costs.add("ada", [spending("system" * 100)])
    assert len(costs.by_key) == MOST_KEYS + 2
    assert costs.by_key["eve", OTHER, OTHER].requests == 50
    assert costs.of("eve").requests == MOST_KEYS + 50
    costs.add("bob", [spending()] * 1000)
    assert costs.of("bob").requests == MOST_SPENDINGS
    assert len(spending(model := "x" * 999).usage.model) <= NAME_CHARS < len(model)


def test_the_log_says_what_a_message_took() -> None:
    state = RoomState()
    bodies: list[AnyBody] = [
        RoomCreated("r", "Room"),
        MemberJoined("host", engine=True),
        MessagePosted("1", "hi", handler="ada"),
        DecisionMade(3, "ignore", spent=(spending("reasoner"),) * 100),
    ]
    for seq, body in enumerate(bodies, start=1):
        state.apply(Event(seq, 1.0, "ada" if seq > 1 else "", body))
    assert len(state.threads[3].spent) == MOST_SPENDINGS
    assert state.costs.silence["ada"].requests == MOST_SPENDINGS
