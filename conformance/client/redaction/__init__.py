"""What is secret in a run, in every encoding, and how it is taken out of what is written."""
