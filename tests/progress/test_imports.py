from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import airflow_dataflow_provider.progress

HEAVY = ["polars", "numpy", "pyarrow", "pandas", "pyspark", "airflow", "fsspec"]


def test_progress_and_a_local_store_load_nothing_heavy(tmp_path: Path) -> None:
    folder = Path(airflow_dataflow_provider.progress.__file__).parent
    modules = (path.relative_to(folder).with_suffix("") for path in folder.rglob("[!_]*.py"))
    names = sorted(".".join(["airflow_dataflow_provider.progress", *module.parts]) for module in modules)
    assert len(names) > 28
    script = (
        "import importlib, json, sys\n"
        f"for name in {names!r}: importlib.import_module(name)\n"
        "sys.modules['airflow_dataflow_provider.progress.store.store'].Store.open(sys.argv[1]).write('a.json', b'{}')\n"
        f"print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))\n"
    )
    done = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
