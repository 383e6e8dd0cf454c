"""The mounts of this machine, by which different paths without links may be the same place (S24).

Linux tells it in ``/proc/self/mountinfo`` (proc(5)); other systems have no second path to a folder but links.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

_ESCAPED = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class _Mount:
    """One line: a folder of a device, and where it is seen."""

    device: str
    root: str
    """The folder within the device's file system; without a slash at its end."""
    point: str
    """Where it is mounted; without a slash at its end."""
    is_read_only: bool


class Mounts:
    """Knows, for every folder, the first of the paths by which it is seen."""

    def __init__(self, lines: str = "") -> None:
        """Takes the text of ``mountinfo``."""
        self._mounts = _visible([_parsed(line) for line in lines.splitlines() if line])
        self._by_point = {mount.point: mount for mount in self._mounts}

    @staticmethod
    def read() -> Mounts:
        """The mounts as they are now."""
        try:
            return _remembered(Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape"))
        except OSError:  # not Linux
            return _remembered("")

    def is_elsewhere(self, path: str) -> bool:
        """Whether a folder is a mount of one that is seen by another path first."""
        path = path.rstrip("/")
        return path in self._by_point and self.first(path) != (path or "/")

    def first(self, path: str) -> str:
        """The first path of what a path without links names: by the mount that shows most of its device.

        One that can be written to comes before one that cannot.
        """
        path = path.rstrip("/")
        mount = self._around(path)
        if mount is None:
            return path or "/"
        inside = mount.root + path[len(mount.point) :]
        shown = [m for m in self._mounts if m.device == mount.device and _is_below(inside, m.root)]
        for other in sorted(shown, key=lambda m: (m.is_read_only, len(m.root), len(m.point), m.point)):
            candidate = other.point + inside[len(other.root) :]
            if self._around(candidate) == other:  # and no other mount lies over it
                return candidate or "/"
        return path or "/"

    def _around(self, path: str) -> _Mount | None:
        """The mount that holds a path."""
        while path:
            if path in self._by_point:
                return self._by_point[path]
            path = path.rpartition("/")[0]
        return self._by_point.get("")


@functools.lru_cache(maxsize=4)
def _remembered(lines: str) -> Mounts:
    """The mounts of a text, which is the same for every listing as long as nobody mounts anything."""
    return Mounts(lines)


def _visible(mounts: list[_Mount]) -> list[_Mount]:
    """Those that no later mount covers."""
    return [
        mount
        for number, mount in enumerate(mounts, start=1)
        if not any(_is_below(mount.point, later.point) for later in mounts[number:])
    ]


def _is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(root + "/")


def _parsed(line: str) -> _Mount:
    _, _, device, root, point, options, *_ = line.split(" ")
    return _Mount(device, _plain(root), _plain(point), "ro" in options.split(","))


def _plain(text: str) -> str:
    """A path without its octal escapes, and without a slash at its end."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 8)), text).rstrip("/")
