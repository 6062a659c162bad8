"""What people do with runs: hold a release to them, sign them, lay them side by side. Pure functions of run files."""
