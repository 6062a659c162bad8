"""`--var` sets what a profile knows: a misspelt name would leave what it was to set as it is, and say nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.core.errors import ProfileError
from conformance.profile import load_profile
from conformance.profile.variables import variable_names, variables_of_each

MINIMAL = 'name = "p"\nbase_url = "http://127.0.0.1:9{var.place}"\nauthorization.format = "Bearer {{key}}"\n'


def _profile(folder: Path, name: str, more: str = "") -> Path:
    path = folder / f"{name}.toml"
    path.write_text(MINIMAL.replace("{{key}}", "{key}") + more)
    return path


def test_a_name_is_stated_or_used() -> None:
    """In any text of the profile, and whatever else is wrong with it."""
    assert variable_names({"variables": {"a": "{var.b}"}, "x": [{"y": "-{var.c}{var.d}-"}, 3]}) == {*"abcd"}
    assert variable_names({"variables": 3}) == set()


def test_a_variable_that_is_only_used_may_be_set(tmp_path: Path) -> None:
    path = _profile(tmp_path, "p")
    assert load_profile(path, variables={"place": "/a"}).base_url == "http://127.0.0.1:9/a"


@pytest.mark.parametrize(
    ("name", "hint"), [("plaec", "did you mean place?"), ("control", "one of: other, place"), ("var.place", "place")]
)
def test_an_unknown_variable_is_refused(name: str, hint: str, tmp_path: Path) -> None:
    """With the nearest one."""
    path = _profile(tmp_path, "p", '[variables]\nother = "x"\n')
    with pytest.raises(ProfileError) as raised:
        load_profile(path, variables={"place": "/a", name: "b"})
    assert str(raised.value).startswith(f"--var: the profile has no variable {name} (")
    assert hint in str(raised.value)


def test_each_of_several_profiles_gets_its_own(tmp_path: Path) -> None:
    """What none of them knows is refused; one that cannot be read keeps all, since its own run says what is wrong."""
    first, second = _profile(tmp_path, "a"), _profile(tmp_path, "b", '[variables]\nother = "x"\n')
    given = {"place": "/a", "other": "y"}
    assert variables_of_each([first, second], given) == {first: {"place": "/a"}, second: given}
    with pytest.raises(ProfileError, match="--var: the profile has no variable oter"):
        variables_of_each([first, second], {**given, "oter": "z"})
    broken = tmp_path / "broken.toml"
    assert variables_of_each([first, broken], given) == {first: {"place": "/a"}, broken: given}
