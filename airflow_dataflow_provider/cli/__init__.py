"""The command line, one module a command; ``docs/reference/command-line.md`` lists options and exit codes."""
