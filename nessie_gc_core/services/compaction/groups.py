"""Which files Iceberg rewrites in one group where a filter takes them in, and which groups it leaves as they are.

The files of a partition of the current spec are a group. All files of earlier specs are one, together with those of a
partition without values. A group with one small file stays as it is, where no delete file makes it or another file of
the group worth rewriting. Source: ``BinPackRewriteFilePlanner`` and ``SizeBasedFileRewritePlanner`` of Iceberg 1.11.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from nessie_gc_core.model.compaction import Partition
from nessie_gc_core.services.compaction.separating import Specs, joined
from nessie_gc_core.services.compaction.tallies import Tally, deletes_everywhere


def is_in_common(partition: Partition, default_spec: int | None) -> bool:
    """Whether its files are in the group of the earlier specs."""
    return partition.spec_id != default_spec or all(value is None for value in partition.values)


def rewritten_along(tallies: Mapping[Partition, Tally], specs: Specs, default_spec: int | None) -> set[Partition]:
    """The partitions of which small files are rewritten where a filter takes them in.

    Args:
        tallies: all partitions of a table that have live files.
        specs: the ids of its partition specs with their fields.
        default_spec: id of the partition spec that new files get; ``None``: not known.
    """
    small = {each for each, tally in tallies.items() if tally.small}
    if default_spec is None or deletes_everywhere(tallies, specs):
        return small
    common = _is_left([tally for each, tally in tallies.items() if is_in_common(each, default_spec)])
    return {each for each in small if not (common if is_in_common(each, default_spec) else _is_left([tallies[each]]))}


def _is_left(group: Sequence[Tally]) -> bool:
    """Whether a group has one small file, and nothing else that is rewritten."""
    return sum(tally.small for tally in group) == 1 and not any(tally.delete_files for tally in group)


def moved(tallies: Mapping[Partition, Tally], specs: Specs, default_spec: int | None) -> dict[Partition, int]:
    """What is rewritten to move all small files of earlier specs: partitions, and how many files each becomes at least.

    Partitions of the current spec that a filter takes in with them are among these. How many files of the current spec
    those of earlier ones become is not known before; one in each existing partition is assumed.
    """
    if default_spec is None:
        return {}
    along = rewritten_along(tallies, specs, default_spec)
    earlier = {each for each in along if each.spec_id != default_spec}
    spread = sum(each.spec_id == default_spec for each in tallies)
    return {**dict.fromkeys(joined(earlier, along - earlier, specs), 0), **dict.fromkeys(earlier, spread)}


def bundled_in_common(
    bundles: Mapping[Partition, frozenset[Partition]],
    small: Set[Partition],
    tallies: Mapping[Partition, Tally],
    default_spec: int | None,
) -> dict[Partition, frozenset[Partition]]:
    """The bundles, of which those become one whose files are a group only together.

    Args:
        bundles: for each of some partitions those that are rewritten with it or not at all.
        small: the partitions of which small files are rewritten.
        tallies: all partitions.
        default_spec: id of the partition spec that new files get; ``None``: not known.
    """
    common = {each for each in small if default_spec is not None and is_in_common(each, default_spec)}
    if not any(tallies[each].small == 1 for each in common):
        return dict(bundles)
    one = frozenset[Partition]().union(*(bundles[each] for each in common))
    return {**bundles, **dict.fromkeys(one, one)}
