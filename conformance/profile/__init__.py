"""What one target says about itself: TOML -> Profile (design, Profile)."""
