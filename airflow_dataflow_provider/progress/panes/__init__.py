"""The documents of a pane log: commits, snapshots, and their order."""
