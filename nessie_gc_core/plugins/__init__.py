"""Discovery of installed plugins, and the registry of their connectors."""

from nessie_gc_core.plugins.registry import PluginInfo, PluginRegistry, installed

__all__ = ["PluginInfo", "PluginRegistry", "installed"]
