"""The settings that ours and hand-written Spark share."""

from __future__ import annotations

from pathlib import Path


def settings(scratch: Path) -> dict[str, str]:
    """The same memory for both, and nothing left outside of the scratch folder."""
    return {
        "spark.driver.memory": "4g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.local.dir": str(scratch / "local"),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
    }
