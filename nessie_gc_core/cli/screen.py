"""What a run prints at its end: a report for people, or one JSON object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from nessie_gc_core.cli.output import print_json, say, standard_output, with_names
from nessie_gc_core.config.flags import with_flags
from nessie_gc_core.connectors import Report
from nessie_gc_core.model.next_steps import next_call, next_command
from nessie_gc_core.model.text import duration_text, plural, shown, size_text, time_text
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.report import GcReport, NamedFile
from nessie_gc_core.services.shown import ShownAsText
from nessie_gc_core.services.tally import Tally

_ENDLESS = 1_000_000
"""The width of lines that must not be wrapped."""
_SHOWN = 20
"""So many lines of one list a terminal shows."""
_ALIKE = 4
"""From so many names with the same reason on, they share a line."""
_MEANINGS: Mapping[Outcome, str] = {
    Outcome.DELETED: "",
    Outcome.ALREADY_GONE: "already deleted by someone else",
    Outcome.FAILED: "see the reasons below; the next run tries again",
    Outcome.SPARED: "kept, for the reasons below",
    Outcome.TOO_YOUNG: "kept until they are older (--min-age)",
    Outcome.QUARANTINED: "'restore' can bring them back",
    Outcome.DEFERRED: "recorded for 'deferred-deletes'",
    Outcome.WOULD_DELETE: "nothing was deleted: this was a dry run",
}


def show_report(title: str, report: GcReport, *, as_json: bool, verbose: bool = False) -> int:
    """Prints the report of a run, and gives its exit code."""
    if as_json:
        print_json(report.to_dict())
    else:
        _Page(standard_output(), verbose=verbose).print(title, report)
    return report.exit_code


def show_result(title: str, report: Report, *, as_json: bool, verbose: bool = False) -> int:
    """Prints the report of any service, and gives its exit code.

    Args:
        title: the name of the service.
        report: what it found.
        as_json: whether one JSON object is printed.
        verbose: whether locations that were left out are named; else that is so in a report by table.
    """
    if isinstance(report, GcReport):
        return show_report(title, report, as_json=as_json, verbose=verbose)
    if as_json:
        print_json(report.to_dict())
    elif hasattr(report, "__rich__") or hasattr(report, "__rich_console__"):
        collection = getattr(report, "collection", None)
        if isinstance(collection, GcReport) and collection.live_set_id:
            _Page(standard_output(), verbose=verbose).print(title, collection)
            say("")
        text = with_flags(with_names(str(report)))
        if isinstance(report, ShownAsText):
            standard_output().print(Text(shown(text, lines=True)), soft_wrap=True)
        else:
            standard_output().print(report, crop=False)
    else:
        for name, value in report.to_dict().items():
            say(f"{name.replace('_', ' ')}: {value}")
    return report.exit_code


def print_table(table: Table) -> None:
    """Prints a table; no line is wrapped if the output is not a terminal."""
    console = standard_output()
    if console.is_terminal:
        console.print(table)
        return
    console.width = max(1, Measurement.get(console, console.options.update(max_width=_ENDLESS), table).maximum)
    with console.capture() as capture:
        console.print(table)
    for line in capture.get().splitlines():
        say(line.rstrip())


def plain_table(*columns: str, numbers: Iterable[str] = ()) -> Table:
    """A table without lines; the named columns hold numbers."""
    right = set(numbers)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    return table


class _Page:
    """Prints a report."""

    def __init__(self, console: Console, *, verbose: bool) -> None:
        self._console = console
        self._verbose = verbose

    def print(self, title: str, report: GcReport) -> None:
        dry = ", dry run" if report.dry_run and not report.only_looks else ""
        engine = f", engine {report.engine}" if report.engine else ""
        self._line(f"{title} of {report.address or report.repository}{engine}{dry}", style="bold")
        for line in _live_sets(report):
            self._line(line)
        self._read(report)
        if report.engine is not None:
            self._outcomes(report)
            self._tables(report)
            self._unsaid(report)
        for warning in report.warnings:
            self._line(f"warning: {warning}", style="yellow")
        if report.plan is not None:
            self._line(f"plan: {plural(report.plan.files, 'file')} in {report.plan.path}, digest {report.plan.sha256}")
            show, apply = next_command("show-plan", report.plan.path), next_call("sweep", apply=report.plan.path)
            self._line(f"next: {show} shows these files; {apply} deletes them, or moves them to quarantine")
        if report.engine is None and report.live_set_id is not None:
            look = next_call("sweep", dry_run=True, live_set_id=report.live_set_id)
            sweep = next_call("sweep", live_set_id=report.live_set_id)
            self._line(f"next: {look} shows what would be deleted; {sweep} deletes it")
        else:
            self._verdict(report)

    def _read(self, report: GcReport) -> None:
        counts = [
            plural(count, noun)
            for count, noun in (
                (report.references, "reference"),
                (report.commits, "live commit"),
                (report.contents, "content"),
                (report.content_versions, "content version"),
                (report.files_expanded, "metadata file"),
                (report.files_cached, "remembered manifest"),
            )
            if count
        ]
        if report.engine is not None:
            how = "listed" if "list" in report.phases else "recorded earlier"
            counts.append(f"{_sum(report.files_listed)} {how} in {plural(report.locations, 'location')}")
        self._line("read: " + ", ".join(counts))
        seconds = ", ".join(f"{name} {duration_text(value)}" for name, value in report.phases.items())
        self._line(f"time: {seconds}")
        if report.traffic is not None and report.traffic.requests:
            traffic = report.traffic
            self._line(
                f"stores: {plural(traffic.requests, 'request')}, {size_text(traffic.bytes_read)} read, "
                f"{duration_text(traffic.waited_seconds)} waited, many at the same time"
            )

    def _outcomes(self, report: GcReport) -> None:
        table = plain_table("unreferenced", "files", "bytes", "", numbers=("files", "bytes"))
        for outcome, tally in report.outcomes.items():
            if tally.files:
                name, meaning = outcome.value.replace("_", " "), _MEANINGS[outcome]
                if report.only_looks and outcome is Outcome.WOULD_DELETE:
                    name, meaning = "found", "this command deletes no files"
                table.add_row(name, f"{tally.files:,}", size_text(tally.bytes), meaning)
        total = report.unreferenced
        table.add_row("all", f"{total.files:,}", size_text(total.bytes), "", style="bold")
        self._console.print()
        self._console.print(table)
        if report.sidecars.files:
            self._line(f"not counted above: {_sum(report.sidecars)} of checksum sidecars (.crc)")
        if report.noncurrent_versions.files:
            self._line(f"not counted above: {_sum(report.noncurrent_versions)} of noncurrent versions")
        self._console.print()

    def _tables(self, report: GcReport) -> None:
        """A row for each table (``--by-table``)."""
        if report.tables is None:
            return
        numbers, several = ("files", "unreferenced", "bytes"), len(report.repositories) > 1
        table = plain_table(*(["repository"] if several else []), "table", *numbers, "", numbers=numbers)
        for row in report.tables:
            of = [Text(shown(", ".join(row.repositories)))] if several else []
            found = row.unreferenced
            parts = (f"{tally.files:,} {name.value.replace('_', ' ')}" for name, tally in row.outcomes.items())
            said = f"left alone: {row.left_alone}" if row.left_alone is not None else ", ".join(parts)
            name = Text(shown(", ".join(row.tables) or row.location))
            counts = f"{row.listed.files:,}", f"{found.files:,}", size_text(found.bytes)
            table.add_row(*of, name, *counts, Text(shown(with_flags(said))))
        self._console.print(table)
        self._console.print()

    def _unsaid(self, report: GcReport) -> None:
        """What was left alone, what is missing, and what failed, with reasons."""
        self._reasons("unknown: nothing was deleted there; make it readable and run again", report.worst_unknown, "red")
        self._reasons("unreadable: files that decide what is live", report.unreadable.items(), "red")
        self._reasons(
            "unread: contents that no installed plugin reads, or of other formats, so all files stay",
            report.unread.items(),
            "yellow",
        )
        self._reasons("refused: the configuration keeps these from being swept", report.refused.items(), "yellow")
        self._reasons(
            "set aside: these are gone, as you say, so that they freeze only their own places",
            report.set_aside.items(),
            "yellow",
            noun="content",
        )
        self._left_out(report)
        self._reasons("dropped: these were swept too", report.dropped.items(), "cyan")
        in_quarantine = "needed, but in quarantine: nothing was deleted there; restore these files"
        self._files(in_quarantine, report.in_quarantine_files, report.in_quarantine.files, "red")
        self._files("failed", report.failed_files, report.outcomes[Outcome.FAILED].files, "red")
        self._files("spared", report.spared_files, report.outcomes[Outcome.SPARED].files, "yellow")
        self._files("lost: referenced but not stored", report.lost_files, report.lost.files, "yellow")
        if report.references_moved:
            self._line(f"{plural(report.references_moved, 'reference')} moved during the run, checked again")
        if report.left_alone:
            names = plural(report.left_alone, "name")
            self._line(f"left alone: {names} that are not files (such as links to folders) or not valid text")
        if report.tolerated_missing:
            count = plural(report.tolerated_missing, "missing metadata file")
            self._line(f"{count} of older versions had been deleted by an earlier run")

    def _left_out(self, report: GcReport) -> None:
        """How many locations the patterns leave out, and on request which tables are there."""
        if not report.left_out:
            return
        self._line(f"left out: {plural(len(report.left_out), 'location')}, by --include, --exclude and --set-aside")
        if report.tables is None and not self._verbose:
            return
        named = sorted(report.left_out.items(), key=lambda item: (item[1], item[0]))
        for location, reason in named[:_SHOWN]:
            self._line(f"  {reason} ({location})")
        if len(named) > _SHOWN:
            self._line(f"  and {len(named) - _SHOWN:,} more")

    def _reasons(self, title: str, reasons: Iterable[tuple[str, str]], style: str, *, noun: str = "place") -> None:
        reasons = list(reasons)
        if reasons:
            self._line(f"{title} ({len(reasons):,})", style=style)
            self._folded(reasons, noun=noun, total=len(reasons))

    def _files(self, title: str, files: list[NamedFile], total: int, style: str) -> None:
        if total:
            self._line(f"{title} ({total:,})", style=style)
            self._folded([(file.path, file.reason) for file in files], noun="file", total=total)

    def _folded(self, named: Sequence[tuple[str, str | None]], *, noun: str, total: int) -> None:
        """A line for each; those with the same reason share one with their number."""
        by_reason: dict[str | None, list[str]] = {}
        for name, reason in named:
            by_reason.setdefault(reason, []).append(name)
        lines = list(_folded_lines(by_reason, noun, complete=total == len(named)))
        for line, _ in lines[:_SHOWN]:
            self._line(f"  {line}")
        self._rest(total - sum(count for _, count in lines[:_SHOWN]))

    def _rest(self, more: int) -> None:
        if more > 0:
            self._line(f"  and {more:,} more (--outcomes-to FILE has every file)")

    def _verdict(self, report: GcReport) -> None:
        if report.exit_code:
            self._line("not everything could be done: see above", style="bold red")
        else:
            self._line("done", style="bold green")

    def _line(self, text: str, *, style: str = "") -> None:
        self._console.print(Text(shown(with_flags(text)), style=style), soft_wrap=True)


def _live_sets(report: GcReport) -> Iterator[str]:
    """When the run began, and which live set is of which repository: of several, a line for each."""
    begun = f"begun {time_text(report.started)}"
    if len(report.repositories) == 1 and report.live_set_id is not None:
        (one,) = report.repositories
        of = "" if one.repository == one.address else f" of {one.repository}"  # the line above names the address
        yield f"live set {report.live_set_id}{of}, {begun}"
        return
    yield begun
    for each in report.repositories:
        where = "" if each.repository == each.address else f" ({each.address})"
        unread = "" if each.unread is None else ", which could not be read"
        yield f"live set {each.live_set_id or '(none)'} of {each.repository}{where}{unread}"


def _folded_lines(
    by_reason: Mapping[str | None, Sequence[str]], noun: str, *, complete: bool
) -> Iterator[tuple[str, int]]:
    """Lines, each with the number of names that it stands for."""
    for reason, names in by_reason.items():
        because = f": {reason}" if reason else ""
        if reason is not None and len(names) >= _ALIKE:
            least = "" if complete else "at least "
            yield f"{least}{plural(len(names), noun)}, such as {names[0]}{because}", len(names)
        else:
            yield from ((f"{name}{because}", 1) for name in names)


def _sum(tally: Tally) -> str:
    return f"{plural(tally.files, 'file')} ({size_text(tally.bytes)})"
