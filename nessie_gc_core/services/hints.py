"""What a run says of its own accord because it is probably not what was meant."""

from __future__ import annotations

from collections.abc import Collection

from nessie_gc_core.model.policies import ReferencePolicies


def unmatched_patterns(policies: ReferencePolicies, names: Collection[str]) -> list[str]:
    """Warnings about patterns of cut-off policies that match no reference, such as a misspelt one."""
    return [
        f"the pattern {pattern.pattern!r} of --cutoff matches no reference, so its policy {policy.text} applies to none"
        for pattern, policy in policies.patterns
        if not any(pattern.fullmatch(name) for name in names)
    ]
