"""What several check files share."""
