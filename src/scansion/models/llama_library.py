"""Loading llama.cpp quietly, and turning what it logs into sentences."""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, ModuleType
from typing import Any

from scansion.errors import ModelError

__all__ = ["clear_errors", "interrupts_later", "last_error", "llama_library"]

_LOG_ERROR = 4  # GGML_LOG_LEVEL_ERROR in ggml.h
_WAITING = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "1000"}
"""How OpenMP's threads wait: about 20 µs of spinning, then sleep."""
_lock = threading.Lock()
_errors: deque[str] = deque(maxlen=8)
_library: ModuleType | None = None
_callback: Any = None  # llama.cpp keeps only the pointer: the object must outlive it


def llama_library() -> ModuleType:
    """The module ``llama_cpp.llama_cpp`` (one function per function of llama.h), initialised once per process.

    llama.cpp's log is kept instead of printed: its last error lines are what ``last_error`` returns.

    Raises:
        ModelError: llama-cpp-python is not installed, or its library does not load on this machine.
    """
    global _library, _callback
    with _lock:
        if _library is None:
            try:
                with _patient_threads():
                    import llama_cpp.llama_cpp as library
            except ImportError:
                raise ModelError("running a model here needs llama-cpp-python: pip install 'scansion[local]'") from None
            except (OSError, RuntimeError) as error:
                raise ModelError(f"llama-cpp-python is installed but its library does not load: {error}") from None
            _callback = library.llama_log_callback(_remember)
            with interrupts_later():
                library.llama_log_set(_callback, None)
                library.llama_backend_init()
            _library = library
        return _library


@contextmanager
def _patient_threads() -> Iterator[None]:
    """Let OpenMP threads wait for each other by a short spin, then sleep, unless the environment says otherwise.

    OpenMP reads these variables once, when its library is loaded. Its default is to spin for milliseconds, which on a machine
    with other work makes every forward pass wait for threads that are not running; never to spin costs a sleep and a wake-up
    at each of several hundred barriers in a pass. SmolLM2-135M on two cores, in forwards/s, idle and with both cores busy:
    38 and 35 without spinning, 100 and 26 with the short spin. GNU's library understands the count, others only the policy.
    """
    chosen = [name for name in _WAITING if name in os.environ]
    if chosen:
        yield
        return
    os.environ.update(_WAITING)
    try:
        yield
    finally:
        for name in _WAITING:
            os.environ.pop(name, None)


@contextmanager
def interrupts_later() -> Iterator[None]:
    """Around calls of llama.cpp that log: an interrupt (Ctrl-C) takes effect when the call has returned.

    An exception raised while ``_remember`` runs for llama.cpp has nowhere to go: Python prints it and forgets it, and the
    interrupt is lost. Other threads than the main one are never interrupted.
    """
    usual = signal.getsignal(signal.SIGINT) if threading.current_thread() is threading.main_thread() else None
    if not callable(usual):  # ignored, left to the system, or set outside Python
        yield
        return
    waiting: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: waiting.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
        if waiting:
            usual(*waiting[0])


def last_error() -> str:
    """What llama.cpp complained about last, as half a sentence; empty where it said nothing."""
    for line in reversed(_errors):
        if "failed to load model" not in line:  # said by each caller on the way up; the cause is a line before
            return line.rsplit("error loading model: ", 1)[-1].split("_reader: ", 1)[-1]
    return ""


def clear_errors() -> None:
    """Forget earlier complaints, before a call whose own are wanted."""
    _errors.clear()


def _remember(level: int, text: bytes, _user_data: Any) -> None:
    if level == _LOG_ERROR and text:
        line = text.decode("utf-8", "replace").strip()
        if line:
            _errors.append(line)
