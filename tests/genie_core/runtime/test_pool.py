from contextlib import AbstractAsyncContextManager, nullcontext

from genie_core.runtime.actor import Actor, Pool


class Member(Actor[None, None]):
    active = True

    def __init__(self, *, at_work: bool = False) -> None:
        super().__init__("member")
        self.at_work = at_work

    def resources(self) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    async def serve(self, request: None) -> None:
        return request

    def rest(self) -> bool:
        self.active = self.active and self.at_work
        return not self.active


def test_the_least_recently_used_are_put_to_rest() -> None:
    pool = Pool(2)
    first, second, third = (Member() for _ in range(3))
    for member in (first, second, first, third):
        pool.use(member)
    assert [first.active, second.active, third.active] == [True, False, True]


def test_one_at_work_is_passed_over() -> None:
    pool = Pool(2)
    worker, idle, new = Member(at_work=True), Member(), Member()
    for member in (worker, idle, new):
        pool.use(member)
    assert [worker.active, idle.active, new.active] == [True, False, True]


def test_busy_pool_grows_and_idle_shrinks() -> None:
    pool = Pool(2)
    members = [Member(at_work=True) for _ in range(5)]
    for member in members:
        pool.use(member)
    assert all(member.active for member in members)
    for member in members:
        member.at_work = False
    pool.use(members[0])
    assert [member.active for member in members] == [True, False, False, False, True]


def test_those_that_rest_already_do_not_count() -> None:
    pool = Pool(2)
    gone, kept, new = (Member() for _ in range(3))
    pool.use(gone)
    gone.active = False
    pool.use(kept)
    pool.use(new)
    assert kept.active
