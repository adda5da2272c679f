"""Functions of the user, by name: what they take, and the types in which values reach them."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import cached_property, lru_cache
from typing import Any, TypeVar, get_type_hints

import msgspec

from assay.errors import ApplicationError, UsageError

Workflow = Callable[..., Coroutine[Any, Any, Any]]
Activity = Callable[..., Any]
F = TypeVar("F", bound=Callable[..., Any])


class BaseContext:
    """What tells the parameter for the context from the one for the input."""


WORKFLOW_NAME = "__assay_workflow__"
ACTIVITY_NAME = "__assay_activity__"
_CONTEXT_NAMES = ("ctx", "context")
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Function:
    """One workflow or activity: a function of a context and an input, or of either, or of none."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name = name
        self.function = function
        self.is_async = inspect.iscoroutinefunction(function)

    def arguments(self, context: Any, input: Any) -> tuple[Any, ...]:
        """Return what the function is to be called with."""
        takes_context, takes_input = self._takes
        given: tuple[Any, ...] = (context,) if takes_context else ()
        if takes_input:
            given += (convert(input, self.input_type, f"the input of {self.name}"),)
        elif input is not None:
            raise ApplicationError(
                f"{self.name} takes no input, but got one", kind="INVALID_INPUT", retryable=False
            )
        return given

    @property
    def input_type(self) -> Any:
        places = self._parameters
        if not self._takes[1]:
            return Any
        return self._hints.get(places[int(self._takes[0])].name, Any)

    @property
    def result_type(self) -> Any:
        return self._hints.get("return", Any)

    @cached_property
    def _parameters(self) -> list[inspect.Parameter]:
        try:
            found = inspect.signature(self.function).parameters.values()
        except (TypeError, ValueError):  # a built-in that does not tell
            return [inspect.Parameter("input", inspect.Parameter.POSITIONAL_ONLY)]
        return [each for each in found if each.kind in _POSITIONAL]

    def check(self) -> None:
        """Raise if the function cannot be called with a context and one input."""
        required = [each for each in self._parameters if each.default is each.empty]
        if len(required) > 1 + int(self._takes[0]):
            text = f"{self.name} takes {len(required)} arguments: a context and one input are given"
            raise UsageError(text)

    @cached_property
    def _takes(self) -> tuple[bool, bool]:
        """Whether there is a place for a context, and one for an input."""
        places = self._parameters
        first = bool(places) and self._is_context(places[0])
        return first, len(places) > int(first)

    def _is_context(self, place: inspect.Parameter) -> bool:
        hint = self._hints.get(place.name)
        if hint is not None:
            return inspect.isclass(hint) and issubclass(hint, BaseContext)
        required = [each for each in self._parameters if each.default is each.empty]
        return len(required) > 1 or place.name.strip("_") in _CONTEXT_NAMES

    @cached_property
    def _hints(self) -> dict[str, Any]:
        try:
            return get_type_hints(self.function)
        except Exception:  # noqa: BLE001  names that exist for the type checker alone
            return {}


def convert(value: Any, kind: Any, what: str) -> Any:
    """Return a JSON value as the type that the code asks for."""
    if kind is Any or kind is None or isinstance(kind, TypeVar):
        return value
    if hasattr(kind, "model_validate"):
        return kind.model_validate(value)
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        text = f"{what} does not fit {_shown(kind)}: {error}"
        raise ApplicationError(text, kind="INVALID_INPUT", retryable=False) from None
    except TypeError:  # a type that only the code knows how to make
        return value


def _shown(kind: Any) -> str:
    return kind.__name__ if inspect.isclass(kind) else str(kind).removeprefix(typing.__name__ + ".")


class Registry:
    """The workflows and activities that a worker can run, by name."""

    def __init__(self) -> None:
        self.workflows: dict[str, Function] = {}
        self.activities: dict[str, Function] = {}

    def define(self, name: str) -> Callable[[F], F]:
        """Register an `async def` as the workflow `name`."""

        def register(function: F) -> F:
            if not inspect.iscoroutinefunction(function):
                raise UsageError(f"workflow {name} must be an async def")
            _put(self.workflows, "workflow", Function(name, function))
            return _named(function, WORKFLOW_NAME, name)

        return register

    def activity(self, name: str) -> Callable[[F], F]:
        """Register a function, sync or async, as the activity `name`."""

        def register(function: F) -> F:
            _put(self.activities, "activity", Function(name, function))
            return _named(function, ACTIVITY_NAME, name)

        return register


def _put(known: dict[str, Function], what: str, new: Function) -> None:
    if known.setdefault(new.name, new).function is not new.function:
        raise UsageError(f"{what} {new.name} is defined twice")


def _named(function: F, attribute: str, name: str) -> F:
    with suppress(AttributeError, TypeError):  # a built-in: it has to be asked for by its name
        setattr(function, attribute, name)
    return function


def name_of(target: str | Callable[..., Any], attribute: str) -> str:
    """Return the name of a registered function, or the name itself."""
    if isinstance(target, str):
        return target
    name = getattr(target, attribute, None)
    if name is None:
        what = "workflow" if attribute == WORKFLOW_NAME else "activity"
        shown = getattr(target, "__qualname__", repr(target))
        text = f"{shown} is no {what}: decorate it, or say its name as text"
        raise UsageError(text)
    return str(name)


def result_type(target: str | Callable[..., Any]) -> Any:
    """Return the type that a function returns; Any for one that is only named."""
    if isinstance(target, str):
        return Any
    try:
        return _returned(target)
    except TypeError:  # a callable that cannot be hashed
        return Function("", target).result_type


@lru_cache(maxsize=1024)  # reading annotations costs more than the step that calls the function
def _returned(function: Callable[..., Any]) -> Any:
    return Function("", function).result_type
