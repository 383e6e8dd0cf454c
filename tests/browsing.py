"""A real browser without a screen: the machine's Chromium, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.testing.servers import skip_or_fail

_NAMES = ("chromium", "chromium-browser", "google-chrome")
ELSEWHERE = "evil.example"
"""A name that is this machine's, as a stranger may give it one."""


@contextmanager
def browser() -> Iterator[Browser]:
    """The browser; a test is skipped aloud, or fails, where it is missing."""
    with skip_or_fail():
        program = _program()
    arguments = [f"--host-resolver-rules=MAP {ELSEWHERE} 127.0.0.1"]
    arguments += ["--no-sandbox"] if os.geteuid() == 0 else []  # which it does not have for root
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=arguments)
        try:
            yield opened
        finally:
            opened.close()


def _program() -> str:
    for name in _NAMES:
        if (found := shutil.which(name)) is not None:
            return found
    raise ConfigurationError(f"no browser is installed ({', '.join(_NAMES)}): install the package chromium")
