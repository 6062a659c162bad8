"""Which installation a key belongs to, as far as the profile states it.

A key without a stated installation may belong to any, as soon as that of another key is stated. Only where the home is
not named, and at most one installation is, the home is the one without a name; not so where every key but one has that
name, since that one may have been forgotten.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from conformance.profile.model import Credential, Profile


def home_of(profile: Profile) -> str:
    """The name of the installation that owns all fixtures except the foreign ones; empty where it is not stated."""
    key = _home_key(profile)
    return key.installation if key else ""


def is_of_home(profile: Profile, credential: Credential) -> bool:
    """Whether a key is stated to belong to the home installation, as the first active key does."""
    key = _home_key(profile)
    if key is not None and credential.name == key.name:
        return True
    return credential.installation == home_of(profile) and _is_known(profile, credential)


def is_foreign(profile: Profile, credential: Credential) -> bool:
    """Whether a key is stated to belong to another installation than the home.

    An exclusion that states neither scopes nor an installation is about such keys, too.
    """
    if credential.installation == home_of(profile):
        return False
    key = _home_key(profile)
    if credential.name not in profile.credentials and not credential.installation and not credential.scopes:
        return True
    return _is_known(profile, credential) and (key is None or _is_known(profile, key))


def are_of_two_installations(profile: Profile, first: Credential, second: Credential) -> bool:
    """Whether two keys are stated to belong to different installations."""
    is_known = _is_known(profile, first) and _is_known(profile, second)
    return is_known and first.installation != second.installation


def keys_without_installation(profile: Profile) -> list[Credential]:
    """The active keys whose installation has to be stated, since those of others are."""
    return [key for key in profile.credentials.values() if key.active and not _is_known(profile, key)]


def installation_fact(profile: Profile, suits: Callable[[Credential], bool]) -> str:
    """The fact without which a key does not suit that belongs to the home, or to another installation."""
    home, unknown_keys = home_of(profile), keys_without_installation(profile)
    if unknown_keys and not home:
        return f"credentials.{unknown_keys[0].name}.installation"
    for key in unknown_keys:
        if any(suits(replace(key, installation=name)) for name in (home, "another installation")):
            return f"credentials.{key.name}.installation"
    return ""


def _home_key(profile: Profile) -> Credential | None:
    return next((key for key in profile.credentials.values() if key.active), None)


def _is_known(profile: Profile, credential: Credential) -> bool:
    if credential.installation:
        return True
    keys = profile.credentials.values()
    names = [key.installation for key in keys if key.installation]
    if home_of(profile) or len(set(names)) > 1:
        return False
    return len(names) < 2 or len(keys) - len(names) > 1
