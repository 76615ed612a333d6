"""SVG pictures that the command line draws: the watermarks of a run, and the panes of a typical stream."""
