"""The profile of a target: a TOML file, read strictly into frozen values."""

from conformance.profile.loader import load_profile, profile_from_document
from conformance.profile.model import Profile
from conformance.profile.secrets import resolve_secret

__all__ = [
    "Profile",
    "behavior",
    "components",
    "documentation",
    "exclusions",
    "facts",
    "filled_contract",
    "installations",
    "load_profile",
    "loader",
    "model",
    "overrides",
    "profile_from_document",
    "render",
    "resolve_secret",
    "resources",
    "rules",
    "sample",
    "schema",
    "schemas",
    "secrets",
    "shares",
    "source",
    "statements",
    "structure",
    "subschema",
    "urls",
    "variables",
    "waivers",
]
