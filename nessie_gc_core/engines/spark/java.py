"""What a session's JVM needs that Python does not have, and what it raises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nessie_gc_core.model.text import one_line


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


def is_java(error: BaseException, names: Sequence[str]) -> bool:
    """Whether an error is one of Java, of one of some classes."""
    raised = raised_by(error)
    return raised is not None and raised.getClass().getName() in names


def raised_by(error: BaseException) -> Any:
    """What Java raised; ``None`` where the error is one of Python. PySpark has classes of its own for some of it."""
    found = getattr(error, "java_exception", None)
    return getattr(error, "_origin", None) if found is None else found


class IcebergClasses:
    """Classes of the Iceberg that a catalog is of, wherever the session has it from."""

    def __init__(self, jvm: Any, catalog: Any) -> None:
        """Takes a catalog of Iceberg."""
        self._class: Any = jvm.java.lang.Class
        self._loader = catalog.getClass().getClassLoader()

    def methods(self, name: str) -> frozenset[str]:
        """The names of the methods that a class declares itself."""
        return frozenset(method.getName() for method in self._named(name).getDeclaredMethods())

    def is_certain_failure(self, error: BaseException) -> bool:
        """Whether Iceberg itself says of a failed commit that it was not made, so that it cleans up after it (S19)."""
        raised = raised_by(error)
        return raised is not None and bool(self._named("exceptions.CleanableFailure").isInstance(raised))

    def _named(self, name: str) -> Any:
        return self._class.forName(f"org.apache.iceberg.{name}", False, self._loader)


def one_line_of(error: BaseException) -> str:
    """What was raised, in one line without the name of the call."""
    raised = raised_by(error)
    if raised is None:
        return one_line(error) if isinstance(error, Exception) else type(error).__name__
    said = (raised.getMessage() or raised.getClass().getName()).strip().splitlines()
    return one_line(ValueError(said[0]))
