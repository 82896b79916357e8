"""What an interrupt does while llama.cpp is at work."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from scansion.models.llama_library import interrupts_later


def test_an_interrupt_waits_for_the_end_of_the_call() -> None:
    usual = signal.getsignal(signal.SIGINT)
    steps = []
    with pytest.raises(KeyboardInterrupt):
        with interrupts_later():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
            steps.append("inside")
        steps.append("after")
    assert steps == ["inside"]
    assert signal.getsignal(signal.SIGINT) is usual


def test_nothing_changes_without_an_interrupt() -> None:
    usual = signal.getsignal(signal.SIGINT)
    with interrupts_later():
        assert signal.getsignal(signal.SIGINT) is not usual
    assert signal.getsignal(signal.SIGINT) is usual


def test_other_threads_and_ignored_interrupts_are_left_alone() -> None:
    seen = []

    def elsewhere() -> None:
        with interrupts_later():
            seen.append(signal.getsignal(signal.SIGINT))

    usual = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        with interrupts_later():
            seen.append(signal.getsignal(signal.SIGINT))
    finally:
        signal.signal(signal.SIGINT, usual)
    assert seen == [signal.SIG_IGN, signal.SIG_IGN]
