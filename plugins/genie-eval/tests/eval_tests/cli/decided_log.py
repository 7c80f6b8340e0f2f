"""A log with decisions that other reasoners are compared with."""

from genie_core.room.protocol.events import AnswerPosted, AnyBody, DecisionMade, MessagePosted

LOG: tuple[AnyBody, ...] = (
    MessagePosted("a", "good morning", handler="ann"),
    DecisionMade(4, "ignore", "small talk"),
    MessagePosted("b", "genie, what is 6*7?", handler="ann"),
    DecisionMade(6, "delegate", "asked by name", "what is 6*7?", "ann"),
    AnswerPosted(6, "42", "ann"),
    MessagePosted("c", "what is 2+2?", handler="ann"),
    DecisionMade(9, "ignore", "nobody asked"),
)
