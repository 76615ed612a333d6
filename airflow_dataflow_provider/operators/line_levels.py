"""The log levels of the lines of a driver's output."""

from __future__ import annotations

import logging
import re
from typing import Final

_SPARK: Final = re.compile(r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d (TRACE|DEBUG|INFO|WARN|ERROR|FATAL) ")
_LEVELS: Final = {
    # Spark's own progress is not part of the task's log.
    "TRACE": logging.DEBUG,
    "DEBUG": logging.DEBUG,
    "INFO": logging.DEBUG,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
}
_ERROR: Final = re.compile(r"\[[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\] |Traceback \(most recent call last\)")
_STACK: Final = re.compile(
    r"\s+at |\s*\.\.\. \d+ more|Caused by: |\s+Suppressed: |[a-z][\w.$]*\.\w*(?:Exception|Error)\b"
)
_NOISE: Final = re.compile(
    r"WARNING: (?:Using incubator modules|package sun\.security\.action|A restricted method|A terminally deprecated"
    r"|sun\.misc\.Unsafe|Please consider reporting|Use --enable-native-access|Restricted methods will be blocked"
    r"|.* has been called by )"
    r"|Using Spark's default log4j profile|Setting default log level to|To adjust logging level use"
    r"|.* WARN (?:NativeCodeLoader|Utils: (?:Your hostname|Set SPARK_LOCAL_IP|Service '))"
)
"""Lines that Java and Spark print at every start."""


class LineLevels:
    """Finds the levels of the lines of one driver's output, in their order.

    A stack trace belongs to the record before it. If that record is a warning or lower, the trace is at DEBUG: it is
    long, and the driver's own log has it.
    """

    def __init__(self) -> None:
        self._level = logging.INFO

    def of(self, line: str) -> int:
        """The level of the next line."""
        if _NOISE.match(line):
            self._level = logging.DEBUG
        elif record := _SPARK.match(line):
            self._level = _LEVELS[record[1]]
        elif _ERROR.match(line):
            self._level = logging.ERROR
        elif _STACK.match(line):
            return self._level if self._level >= logging.ERROR else logging.DEBUG
        elif line.startswith((" ", "\t", "Why: ", "What to do: ", "Where: ")):
            return self._level
        else:
            self._level = logging.INFO
        return self._level
