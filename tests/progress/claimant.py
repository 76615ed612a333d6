"""A driver in a process of its own: claims the state at argv[1] when told to, says what came of it, and stays."""

from __future__ import annotations

import sys

from airflow_dataflow_provider.model.errors import OwnershipError
from airflow_dataflow_provider.progress.ownership.owner import Ownership
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.progress.wall import wall_clock


def main() -> None:
    store = Store.open(sys.argv[1])
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        ownership = Ownership.claim(store, mode="streaming", run_id=sys.argv[2], now=wall_clock())
    except OwnershipError as error:
        print(error.code, flush=True)
    else:
        print(f"token {ownership.token}", flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    main()
