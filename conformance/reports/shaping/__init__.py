"""What several formats share: safe text, grouping by cause, curl lines."""
