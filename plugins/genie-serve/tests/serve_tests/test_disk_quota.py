from genie_serve.config import ServiceLimits
from genie_serve.disk_quota import DiskQuota

LIMITS = ServiceLimits(disk=1000, room_disk=600)


class Told:
    """A room that notes what it is told."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, text: str) -> None:
        self.texts.append(text)


def test_full_room_gets_one_notice() -> None:
    quota, full, other = DiskQuota(LIMITS), Told(), Told()
    share = quota.share("one")
    share.connect(full)
    quota.share("two").connect(other)
    share.note_log(300)
    assert not full.texts
    share.note_files(300)
    share.note_log(310)
    assert len(full.texts) == 1
    assert "limits.room_disk" in full.texts[0]
    assert not other.texts


def test_full_service_notifies_all_rooms() -> None:
    quota, one, two = DiskQuota(LIMITS), Told(), Told()
    for name, told in (("one", one), ("two", two)):
        quota.share(name).connect(told)
        quota.share(name).note_log(400)
    quota.share("archived").note_log(200)
    assert one.texts == two.texts
    assert "limits.disk" in one.texts[0]
    quota.remove("archived")
    assert quota.used == 800
    assert one.texts[1:] == two.texts[1:] == [""]


def test_closed_room_usage_still_counts() -> None:
    quota, told = DiskQuota(LIMITS), Told()
    share = quota.share("one")
    share.connect(told)
    share.note_log(100)
    share.disconnect()
    share.note_log(600)
    assert quota.used == 600
    assert told.texts == []
    quota.share("one").connect(told)
    assert len(told.texts) == 1


def test_files_fit_while_both_limits_allow_them() -> None:
    quota = DiskQuota(LIMITS)
    share, other = quota.share("one"), quota.share("two")
    share.note_log(100)
    share.note_files(100)
    assert share.fits(500)
    assert not share.fits(501)
    other.note_log(500)
    assert share.fits(400)
    assert not share.fits(401)
