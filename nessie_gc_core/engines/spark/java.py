"""What a session's JVM needs that Python does not have, and what it raises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nessie_gc_core.model.text import one_line

_SPARK = "org.apache.spark."
_MOST_CAUSES = 20


def strings(gateway: Any, values: Sequence[str]) -> Any:
    """An array of texts."""
    array = gateway.new_array(gateway.jvm.java.lang.String, len(values))
    for number, value in enumerate(values):
        array[number] = value
    return array


def predicate_of(jvm: Any, chosen: Any) -> Any:
    """A predicate that is true of the members of a set; Java asks it without calling back into Python."""
    class_, invoke = jvm.java.lang.Class, jvm.java.lang.invoke
    type_ = invoke.MethodType.methodType(jvm.java.lang.Boolean.TYPE, class_.forName("java.lang.Object"))
    contains = invoke.MethodHandles.publicLookup().bind(chosen, "contains", type_)
    return invoke.MethodHandleProxies.asInterfaceInstance(class_.forName("java.util.function.Predicate"), contains)


def clusters_of(jvm: Any, iceberg: IcebergClasses, placed: Mapping[str, int]) -> Any:
    """A function of Java that gives a data file its number, and null to one that has none."""
    class_, invoke = jvm.java.lang.Class, jvm.java.lang.invoke
    object_, string = class_.forName("java.lang.Object"), class_.forName("java.lang.String")
    numbers, separator = jvm.java.util.HashMap(), jvm.java.util.regex.Pattern.compile("\0")
    by_number: dict[int, list[str]] = {}
    for path, number in placed.items():
        by_number.setdefault(number, []).append(path)
    for number, paths in by_number.items():  # a call for each path would take long
        constant = invoke.MethodHandles.constant(object_, number)
        always = _function(jvm, invoke.MethodHandles.dropArguments(constant, 0, _types(jvm, object_)))
        to_map = jvm.java.util.stream.Collectors.toMap(jvm.java.util.function.Function.identity(), always)
        numbers.putAll(separator.splitAsStream("\0".join(paths)).collect(to_map))
    lookup = invoke.MethodHandles.publicLookup()
    location = lookup.findVirtual(iceberg.named("ContentFile"), "location", invoke.MethodType.methodType(string))
    number_of = lookup.bind(numbers, "get", invoke.MethodType.methodType(object_, object_))
    taken = number_of.asType(invoke.MethodType.methodType(object_, string))
    return _function(jvm, invoke.MethodHandles.filterReturnValue(location, taken))


def _function(jvm: Any, handle: Any) -> Any:
    function = jvm.java.lang.Class.forName("java.util.function.Function")
    return jvm.java.lang.invoke.MethodHandleProxies.asInterfaceInstance(function, handle)


def _types(jvm: Any, type_: Any) -> Any:
    types = jvm.java.util.ArrayList()
    types.add(type_)
    return types


def is_java(error: BaseException, names: Sequence[str]) -> bool:
    """Whether an error is one of Java, of one of some classes."""
    return any(_is(raised, names) for raised in causes_of(error)[:1])


def is_caused_by(error: BaseException, names: Sequence[str]) -> bool:
    """The same of an error of Java, or of whatever caused it."""
    return any(_is(raised, names) for raised in causes_of(error))


def _is(raised: Any, names: Sequence[str]) -> bool:
    return raised.getClass().getName() in names


def raised_by(error: BaseException) -> Any:
    """What Java raised; ``None`` if the error is one of Python. PySpark has classes of its own for some of it."""
    found = getattr(error, "java_exception", None)
    return getattr(error, "_origin", None) if found is None else found


def causes_of(error: BaseException) -> list[Any]:
    """What Java raised, and what caused it, one after the other."""
    raised, found = raised_by(error), list[Any]()
    while raised is not None and len(found) < _MOST_CAUSES:
        found.append(raised)
        raised = raised.getCause()
    return found


class IcebergClasses:
    """Classes of the Iceberg that a catalog is of, wherever the session has it from."""

    def __init__(self, jvm: Any, catalog: Any) -> None:
        """Takes a catalog of Iceberg."""
        self._class: Any = jvm.java.lang.Class
        self._loader = catalog.getClass().getClassLoader()

    def methods(self, name: str) -> frozenset[str]:
        """The names of the methods that a class declares itself."""
        return frozenset(method.getName() for method in self.named(name).getDeclaredMethods())

    def is_certain_failure(self, error: BaseException) -> bool:
        """Whether Iceberg itself says of a failed commit that it was not made, so that it cleans up after it (S19)."""
        raised = raised_by(error)
        return raised is not None and bool(self.named("exceptions.CleanableFailure").isInstance(raised))

    def action_committed_nothing(self, error: BaseException) -> bool:
        """Whether an action of Iceberg on Spark failed before its commit, or Iceberg says that it was not made (S19).

        Actions wrap what a commit raised; an error of Spark's own is one of the jobs that write files before it.
        """
        raised, unknown = causes_of(error), self.named("exceptions.CommitStateUnknownException")
        if any(unknown.isInstance(each) for each in raised):
            return False
        failure = self.named("exceptions.CleanableFailure")
        return any(failure.isInstance(each) or each.getClass().getName().startswith(_SPARK) for each in raised)

    def named(self, name: str) -> Any:
        """A class of the package ``org.apache.iceberg``."""
        return self._class.forName(f"org.apache.iceberg.{name}", False, self._loader)


def one_line_of(error: BaseException) -> str:
    """What was raised, in one line without the name of the call."""
    raised = raised_by(error)
    if raised is None:
        return one_line(error) if isinstance(error, Exception) else type(error).__name__
    said = (raised.getMessage() or raised.getClass().getName()).strip().splitlines()
    return one_line(ValueError(said[0]))
