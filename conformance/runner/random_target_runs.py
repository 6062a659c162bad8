"""Runs against random targets: their registration, their options, and the profile that states their facts."""

from __future__ import annotations

import json
import tomllib
import urllib.error
import urllib.request
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from conformance.core.errors import ConformanceError
from conformance.core.model import Run
from conformance.core.run_options import RunOptions
from conformance.engine.in_process import document_profile, judge, merge_patch, reference_options
from conformance.profile.model import Profile
from conformance.reference.random_targets.choices import RandomTarget
from conformance.reference.random_targets.legitimate_values import ALL_FACTS
from conformance.reference.random_targets.profile_writer import profile_of, schemas_of
from conformance.runner import embedded_reference as embedded
from conformance.runner import random_target as random_profile


def judge_random_target(
    target: RandomTarget, name: str, service: embedded.EmbeddedReference, folder: Path, examples: int | None = None
) -> Run:
    """A whole run against a random target, with a profile that states its facts. `name` must be new to the service.

    `examples`: the number of examples of each property; None: the default. Raises ConformanceError like `judge`.
    """
    options, profile = prepare_random_target(target, name, service, folder, examples)
    return judge(options, profile=profile, keep_journal=False)


def prepare_random_target(
    target: RandomTarget, name: str, service: embedded.EmbeddedReference, folder: Path, examples: int | None = None
) -> tuple[RunOptions, Profile]:
    """Registers a random target; returns the options of a run against it, and the profile that states its facts."""
    options, document = random_target_document(target, name, service, folder, examples)
    return options, document_profile(options, document)


def random_target_document(
    target: RandomTarget, name: str, service: embedded.EmbeddedReference, folder: Path, examples: int | None = None
) -> tuple[RunOptions, dict[str, Any]]:
    """As `prepare_random_target`, with the profile as a document."""
    _register(target, name, service)
    profiles = embedded.bundled_profiles()
    document = tomllib.loads((profiles / "reference.toml").read_text(encoding="utf-8"))
    schemas = _schemas(profiles / document["schemas"]["file"])
    file = folder / f"{name}.schemas.json"
    file.write_text(json.dumps(schemas_of(target, schemas)), encoding="utf-8")
    options = replace(run_options(service, name, folder), examples=examples)
    patch = {**profile_of(target, document), "schemas": {"file": str(file.resolve())}}
    stated_document = merge_patch(document, patch)
    if target.silence == "excluded":
        stated_document = random_profile.with_exclusions(target, stated_document, document)
    if target.facts != ALL_FACTS:
        stated_document = random_profile.reduce_facts(stated_document, target.facts, options)
    return options, stated_document


@cache
def _schemas(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def _register(target: RandomTarget, name: str, service: embedded.EmbeddedReference) -> None:
    request = urllib.request.Request(  # noqa: S310 - the embedded service's own address
        f"{service.control_url}/targets/{name}", json.dumps(target.differences()).encode(), method="PUT"
    )
    try:
        urllib.request.urlopen(request, timeout=30).close()  # noqa: S310
    except urllib.error.HTTPError as error:
        raise ConformanceError(error.read().decode("utf-8", "replace"), where=name) from error


def run_options(service: embedded.EmbeddedReference, name: str, folder: Path) -> RunOptions:
    profile = embedded.bundled_profiles() / "reference.toml"
    return reference_options(service.base_url, service.control_url, name, profile, folder / name)
