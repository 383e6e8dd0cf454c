"""Numbers that look random and follow from other numbers alone."""

from __future__ import annotations

_MASK = 0xFFFF_FFFF_FFFF_FFFF


def mixed(*numbers: int) -> int:
    """64 bits that are the same for the same numbers in every process (the finalizer of SplitMix64, chained)."""
    state = 0x9E37_79B9_7F4A_7C15
    for number in numbers:
        state = (state + (number & _MASK) + 0x9E37_79B9_7F4A_7C15) & _MASK
        state = ((state ^ (state >> 30)) * 0xBF58_476D_1CE4_E5B9) & _MASK
        state = ((state ^ (state >> 27)) * 0x94D0_49BB_1331_11EB) & _MASK
        state ^= state >> 31
    return state


def falls_in(share: float, *numbers: int) -> bool:
    """Whether these numbers belong to a share of all."""
    return share > 0 and mixed(*numbers) < share * 2**64
