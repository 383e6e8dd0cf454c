"""Checks of one plugin when it is registered, so that a mistake breaks this plugin alone, by name (S27)."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Iterator, Mapping, Set

import pluggy

from nessie_gc_core import hookspecs
from nessie_gc_core.connectors import AnyService, Connector, ContentToFiles, FileDeleter, FileLister, Service
from nessie_gc_core.errors import ConfigurationError, PluginError
from nessie_gc_core.model.files import StoredNames
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.model.repository import UNKNOWN_CONTENT

_PREFIX = f"{hookspecs.PROJECT}_"
_SPEC = f"{hookspecs.PROJECT}_spec"
_IMPL = f"{hookspecs.PROJECT}_impl"


# ---- hooks --------------------------------------------------------------------------------------------
def check_hooks(manager: pluggy.PluginManager, plugin: object, name: str) -> None:
    """Refuses hooks that would never be called.

    Raises:
        PluginError: a hook is misspelt, or a function is named like a hook and is not marked as one.
    """
    known = {hook for hook in vars(hookspecs) if hook.startswith(_PREFIX)}
    for caller in manager.get_hookcallers(plugin) or ():
        optional = all(impl.optionalhook for impl in caller.get_hookimpls() if impl.plugin is plugin)
        if not caller.has_spec() and not optional:
            near = _near(caller.name, known)
            raise PluginError(f"plugin {name!r} implements {caller.name!r}, which is not a hook{near}")
    for function in _like_hooks(plugin):
        if function in known:
            raise PluginError(f"plugin {name!r} has a function {function!r} without @hookimpl, so it is never called")
        raise PluginError(
            f"plugin {name!r} has a function {function!r}, which is named like a hook but is not one"
            f"{_near(function, known)}"
        )


def _like_hooks(plugin: object) -> Iterator[str]:
    """Functions that are named like hooks and marked neither as an implementation nor as a specification."""
    for name in dir(plugin):
        function = getattr(plugin, name, None) if name.startswith(_PREFIX) else None
        if inspect.isroutine(function) and not hasattr(function, _IMPL) and not hasattr(function, _SPEC):
            yield name


def _near(name: str, known: Set[str]) -> str:
    near = difflib.get_close_matches(name, sorted(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; the hooks are {', '.join(sorted(known))}"


# ---- connectors ---------------------------------------------------------------------------------------
def check_connector(contract: type[Connector], connector: object, plugin: str) -> type[Connector]:
    """The connector class, once it is known to be one that can be looked up and made.

    Raises:
        PluginError: it is none; the message says what is missing.
    """
    if not (isinstance(connector, type) and issubclass(connector, contract)):
        raise PluginError(f"plugin {plugin!r} registers {connector!r}, which is not a {contract.__name__}")
    problem = _problem(connector)
    if problem is not None:
        raise PluginError(f"plugin {plugin!r} registers {connector.__name__}, {problem}")
    return connector


def _problem(connector: type[Connector]) -> str | None:
    name: object = getattr(connector, "name", None)
    if not isinstance(name, str) or not name.strip():
        return "whose 'name' is not usable in a configuration"
    if inspect.isabstract(connector):
        return f"which does not implement {', '.join(sorted(connector.__abstractmethods__))}"
    return _problem_of_claims(connector) or _problem_of_options(connector)


# ---- services -----------------------------------------------------------------------------------------
def check_service(service: object, plugin: str) -> AnyService:
    """The service class, once it is known to be one that a command can be made from.

    Raises:
        PluginError: it is none; the message says what is missing.
    """
    if not (isinstance(service, type) and issubclass(service, Service)):
        raise PluginError(f"plugin {plugin!r} registers {service!r}, which is not a Service")
    problem = _problem_of_service(service)
    if problem is not None:
        raise PluginError(f"plugin {plugin!r} registers {service.__name__}, {problem}")
    return service


def _problem_of_service(service: AnyService) -> str | None:
    name: object = getattr(service, "name", None)
    if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9-]*", name):
        return "whose 'name' is not a valid command name: lower-case letters, digits and dashes"
    if inspect.isabstract(service):
        return f"which does not implement {', '.join(sorted(service.__abstractmethods__))}"
    return _problem_of_declaration(getattr(service, "Parameters", None), "Parameters")


# ---- what both have -----------------------------------------------------------------------------------
def _problem_of_claims(connector: type[Connector]) -> str | None:
    if issubclass(connector, ContentToFiles):
        claims, what = getattr(connector, "content_types", None), "content_types"
        kinds: object = getattr(connector, "expandable_kinds", None)
        if not isinstance(kinds, (tuple, list)) or not all(isinstance(kind, str) and kind for kind in kinds):
            return "whose 'expandable_kinds' is not a tuple of FileKind"
        if not _are_stored_names(connector.stored_names, claims):
            return "whose 'stored_names' is not a mapping of some of its content types to StoredNames"
    elif issubclass(connector, (FileLister, FileDeleter)):
        claims, what = getattr(connector, "schemes", None), "schemes"
        fallback: object = connector.fallback_schemes
        if not _is_set_of_texts(fallback):
            return "whose 'fallback_schemes' is not a set of strings"
    else:
        return None
    if not _is_set_of_texts(claims) or not claims:
        return f"whose {what!r} is not a non-empty set of strings"
    if what == "content_types" and UNKNOWN_CONTENT in claims:
        return f"whose 'content_types' contains {UNKNOWN_CONTENT!r}, which no plugin may read; remove it"
    return None


def _is_set_of_texts(claims: object) -> bool:
    return isinstance(claims, Set) and all(isinstance(claim, str) and claim for claim in claims)


def _are_stored_names(names: object, types: object) -> bool:
    if not isinstance(names, Mapping) or not isinstance(types, Set):
        return False
    return all(type_ in types and isinstance(each, StoredNames) for type_, each in names.items())


def _problem_of_options(connector: type[Connector]) -> str | None:
    return _problem_of_declaration(getattr(connector, "Options", None), "Options")


def _problem_of_declaration(declared: object, name: str) -> str | None:
    if not (isinstance(declared, type) and issubclass(declared, ConnectorOptions)):
        return f"whose {name!r} is not a subclass of ConnectorOptions"
    if "__dataclass_fields__" not in vars(declared) and vars(declared).get("__annotations__"):
        return f"whose {declared.__name__} lacks the decorator @options"
    try:
        declared.check_types()
    except ConfigurationError as error:
        return f"whose options cannot be read: {error}"
    return None
