import asyncio

from genie_core.room.departure import take_steps


async def test_every_step_is_taken_in_order_whatever_becomes_of_the_others() -> None:
    taken: list[str] = []

    async def good() -> None:
        taken.append("good")

    async def broken() -> None:
        taken.append("broken")
        raise OSError("the disk is gone")

    async def silent() -> None:
        raise KeyError

    async def endless() -> None:
        taken.append("endless")
        await asyncio.Event().wait()

    problems = await take_steps(
        [
            ("waiting", endless, 0.01),
            ("saving", broken, 9),
            ("looking", silent, 9),
            ("closing", good, 9),
        ]
    )
    assert taken == ["endless", "broken", "good"]
    assert problems == [
        "waiting took too long",
        "saving failed: the disk is gone",
        "looking failed: KeyError",
    ]
