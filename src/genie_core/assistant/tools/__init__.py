"""The tools of the ready-made assistant: plain coroutine functions that any model can call."""
