"""Options shared by all tests."""

import importlib.util
import signal
import sys
from pathlib import Path

import pytest


def pytest_addoption(parser):
    parser.addoption("--kernel", type=Path, help="run against this build of the extension (make sanitize), not the one in src/scansion")
    parser.addoption("--long", action="store_true", help="random checks run many more rounds (make oracle)")


def pytest_configure(config):
    # A shell starts jobs in the background with interrupts ignored, and children inherit that; tests of interrupts need the usual.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    path = config.getoption("--kernel")
    if path is None:
        return
    if "scansion._kernel" in sys.modules:
        raise pytest.UsageError("--kernel: scansion._kernel is already imported by a plugin")
    spec = importlib.util.spec_from_file_location("scansion._kernel", path)
    module = importlib.util.module_from_spec(spec)
    # `from scansion import _kernel` and `from scansion._kernel import ...` both look here first.
    sys.modules["scansion._kernel"] = module
    spec.loader.exec_module(module)


@pytest.fixture(scope="session")
def rounds(request):
    """Scale of random checks: ``rounds(50)`` is 50, or 50 times as many with ``--long``."""
    factor = 50 if request.config.getoption("--long") else 1
    return lambda count: count * factor
