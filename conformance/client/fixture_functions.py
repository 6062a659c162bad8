"""Python functions that provide fixtures: how they are loaded and called. Whatever they raise is a FixtureError."""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import importlib.util
import inspect
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from conformance.client.fixture_programs import MAX_OUTPUT, TIMEOUT_S, call_in_thread
from conformance.client.process_exit import refuse_process_exit
from conformance.client.redaction.output import defer_output
from conformance.core import strict_json as strictjson
from conformance.core.errors import FixtureError
from conformance.core.messages import shorten


class FixtureFunctions:
    """The functions of a profile, each of which is loaded when it is called first."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._functions: dict[str, Callable[..., Any]] = {}

    async def call(self, name: str, scope: Mapping[str, Any], where: str) -> Any:
        """The JSON value that a function returns. What it prints is written when it has ended, without secrets."""
        results: list[Any] = []
        with defer_output(lambda: _texts(results)), refuse_process_exit():
            if name not in self._functions:
                self._functions[name] = _load(name, self._directory, where)
            results.append(await _call(self._functions[name], scope, name, where))
        return results[0]


async def _call(function: Callable[..., Any], scope: Mapping[str, Any], name: str, where: str) -> Any:
    try:
        async with asyncio.timeout(TIMEOUT_S):
            if inspect.iscoroutinefunction(function):
                value = await function(context=dict(scope))
            else:
                value = await call_in_thread(partial(function, context=dict(scope)))
            value = await value if inspect.isawaitable(value) else value
        size = len(json.dumps(value))  # raises where it is not a JSON value
        if size > MAX_OUTPUT:
            raise FixtureError(f"{name} returned {_describe_size(value, size)}", where=where)
        return strictjson.replace_surrogates(value)
    except TimeoutError:
        raise FixtureError(f"{name} took over {TIMEOUT_S:g} s", where=where) from None
    except asyncio.CancelledError as error:
        if (task := asyncio.current_task()) is not None and task.cancelling():
            raise
        raise FixtureError(f"{name} was cancelled", where=where) from error
    except (GeneratorExit, FixtureError):  # GeneratorExit: the event loop ends
        raise
    except BaseException as error:  # a signal never reaches this thread
        raise FixtureError(f"{name} raised {_describe(error)}", where=where) from error


def _load(name: str, directory: Path, where: str) -> Callable[..., Any]:
    """The callable of a module that is executed once, so that module state lives for the whole run."""
    module_name, _, function = name.rpartition(":")
    try:
        file = module_name.endswith(".py")
        module = _module(directory / module_name) if file else importlib.import_module(module_name)
        return getattr(module, function)  # type: ignore[no-any-return]
    except BaseException as error:
        raise FixtureError(f"cannot load {name}: {_describe(error)}", where=where) from error


def _describe(error: BaseException) -> str:
    """Type and text; the text of an exception of other code may raise itself."""
    try:
        return f"{type(error).__name__}: {error}"
    except BaseException:  # noqa: BLE001
        return type(error).__name__


def _describe_size(value: Any, size: int) -> str:
    """The size of a value and of its largest member."""
    text = f"{size:,} bytes, more than {MAX_OUTPUT:,}"
    if not isinstance(value, dict):
        return text
    largest, name = max((len(json.dumps(member)), str(name)) for name, member in value.items())
    return f"{text}; the member {shorten(name)!r} has {largest:,}"


def _module(path: Path) -> ModuleType:
    path = path.resolve()
    name = f"conformance_fixtures_{hashlib.sha256(os.fsencode(path)).hexdigest()[:12]}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise ImportError(f"{path.name} is not a Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # dataclasses and pickle look there
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


def _texts(value: Any) -> Iterator[str]:
    """Every text of a JSON value, except the names of members."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)
