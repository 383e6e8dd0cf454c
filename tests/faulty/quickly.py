"""A pytest plugin: any failure will do, so that Hypothesis looks for no shorter one."""

from __future__ import annotations

from hypothesis import Phase, settings

settings.register_profile("quickly", phases=(Phase.explicit, Phase.generate), report_multiple_bugs=False)
settings.load_profile("quickly")
