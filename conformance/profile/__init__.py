"""What one target says about itself: a TOML file, read strictly into frozen values."""

from conformance.profile.loader import load_profile, profile_from_document
from conformance.profile.model import Profile
from conformance.profile.secrets import resolve_secret

__all__ = ["Profile", "load_profile", "profile_from_document", "resolve_secret"]
