"""Wake-ups: nothing falls between the look and the wait."""

from threading import Thread

from assay_engine.wakeups import LocalWakeups


def test_a_notification_between_the_look_and_the_wait_is_not_lost() -> None:
    wakeups = LocalWakeups()
    ticket = wakeups.ticket(["a"])
    wakeups.notify("a")
    assert wakeups.wait(["a"], ticket, 0.0) is True


def test_a_waiter_is_woken_by_any_of_its_slots() -> None:
    wakeups = LocalWakeups()
    woken: list[bool] = []
    ticket = wakeups.ticket(["a", "b"])
    waiter = Thread(target=lambda: woken.append(wakeups.wait(["a", "b"], ticket, 30.0)))
    waiter.start()
    wakeups.notify("b")
    waiter.join(10.0)
    assert woken == [True]


def test_a_waiter_is_not_woken_by_other_slots() -> None:
    wakeups = LocalWakeups()
    ticket = wakeups.ticket(["a"])
    wakeups.notify("b")
    assert wakeups.wait(["a"], ticket, 0.01) is False
    wakeups.notify("a")
    assert wakeups.wait(["a"], ticket, 0.0) is True
