"""What `report.html` shows, gathered from a run: plain values for the template and for the script."""
