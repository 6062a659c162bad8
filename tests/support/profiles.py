"""Profiles that are refused."""

from __future__ import annotations

import pytest

from conformance.core.errors import ProfileError
from conformance.profile import resolve_secret
from conformance.profile.model import Credential


def refusal(credential: Credential, secret: str) -> str:
    """Why a credential has no secret. The secret itself stands nowhere in the error."""
    with pytest.raises(ProfileError) as raised:
        resolve_secret(credential)
    message = str(raised.value)
    assert message.startswith("credentials.full.secret: ")
    assert secret not in message + repr(raised.value) + repr(raised.value.__cause__)
    return message
