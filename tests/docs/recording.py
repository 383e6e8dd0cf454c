"""A recording of a terminal as an SVG, which needs no script to play."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from docs.terminal import COLUMNS, Line, Span

_SVG = "{http://www.w3.org/2000/svg}"
_FONT, _CHARACTER, _LINE, _LEFT, _TOP = 14, 8.43, 19, 16, 44
_FONTS = 'ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace'
_COMMAND_SECONDS, _LINE_SECONDS = 1.2, 0.2
_COLOURS = {"green": "#7ee787", "red": "#ff9089", "brown": "#f2cc60", "yellow": "#f2cc60", "cyan": "#76e3ea"}
_STYLE = f"""
  text {{ font: {_FONT}px {_FONTS}; fill: #d9e0ea; white-space: pre }}
  .bold {{ font-weight: 700; fill: #ffffff }}
  .title {{ fill: #9aa7b8; text-anchor: middle; font-size: 12px }}
  {" ".join(f".{name} {{ fill: {colour} }}" for name, colour in _COLOURS.items())}
  .shown {{ animation: light 0.01s backwards }}
  @keyframes light {{ from {{ opacity: 0.45 }} }}
  @media (prefers-reduced-motion: reduce) {{ .shown {{ animation: none }} }}
"""
_CHANGES = (
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "ID"),
    (r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?([+-]\d\d:\d\d|Z)?", "TIME"),
    (r"\d[\d,]*(\.\d+)?( min \d+)? (s|min|B|[KMG]iB|requests)\b", "NUMBER"),
    (r"\b\d+\.\d+\.\d+\b", "VERSION"),
    (r"nessie-gc-demo-\w+", "nessie-gc-demo-ID"),
    (r"\d+ other settings", "NUMBER other settings"),
    (r"such as\s+\S+", "such as FILE"),
    (r"\s+", " "),
)
"""What is another each time, and no difference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A command, and what it printed."""

    command: str
    lines: Sequence[Line]


def comparable(text: str) -> str:
    """A text without what is another each time."""
    for pattern, word in _CHANGES:
        text = re.sub(pattern, word, text)
    return text.strip()


def text_of(scenes: Sequence[Scene]) -> str:
    """What a recording shows, line by line."""
    return "\n".join("".join(span.text for span in line) for line, _ in _played(scenes))


def recorded(path: Path) -> str:
    """What a recording in a file shows, line by line; empty where there is none."""
    if not path.exists():
        return ""
    lines = (line for line in ElementTree.parse(path).iter(f"{_SVG}text") if line.attrib["class"] == "shown")
    return "\n".join("".join(line.itertext()) for line in lines)


def svg(title: str, scenes: Sequence[Scene]) -> str:
    """The recording: a dark window, in which lines light up one by one; without motion, all are lit."""
    played = list(_played(scenes))
    width, height = _LEFT * 2 + round(COLUMNS * _CHARACTER), _TOP + _LINE * len(played) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img" '
        'aria-labelledby="title">',
        f'<title id="title">{escape(title)}</title>',
        f"<style>{_STYLE}</style>",
        f'<rect width="{width}" height="{height}" rx="10" fill="#161b26" stroke="#3b4658"/>',
        *(f'<circle cx="{20 + 18 * n}" cy="18" r="5.5" fill="{c}"/>' for n, c in enumerate(_BUTTONS)),
        f'<text class="title" x="{width // 2}" y="22">{escape(title)}</text>',
    ]
    for number, (line, seconds) in enumerate(played):
        spans = "".join(_span(span) for span in line)
        y = _TOP + _LINE * number + 8
        parts.append(f'<text class="shown" x="{_LEFT}" y="{y}" style="animation-delay: {seconds:.1f}s">{spans}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


_BUTTONS = ("#ec6a5e", "#f4bf4f", "#61c454")


def _span(span: Span) -> str:
    names = [*(["bold"] if span.bold else []), *([span.colour] if span.colour in _COLOURS else [])]
    text = escape(span.text)
    return f'<tspan class="{" ".join(names)}">{text}</tspan>' if names else f"<tspan>{text}</tspan>"


def _played(scenes: Sequence[Scene]) -> Iterator[tuple[Line, float]]:
    """Each line, and after how many seconds it appears."""
    seconds = 0.3
    for number, scene in enumerate(scenes):
        if number:
            yield (), seconds
        for part, text in enumerate(scene.command.splitlines()):
            prompt = Span(text="> " if part else "$ ", colour="green", bold=False)
            yield (prompt, Span(text=text, colour="default", bold=True)), seconds
        seconds += _COMMAND_SECONDS
        for line in scene.lines:
            yield line, seconds
            seconds += _LINE_SECONDS
