"""Discovery of installed plugins, and the registry of their connectors."""

from nessie_gc_core.plugins.registry import PluginRegistry, installed, load_only
from nessie_gc_core.plugins.sets import PluginInfo, PluginSet

__all__ = ["PluginInfo", "PluginRegistry", "PluginSet", "installed", "load_only"]
