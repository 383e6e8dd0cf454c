"""Time-based auto-tagging: tags that are made at roll-overs, and deleted when their policies roll over."""
