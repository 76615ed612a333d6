"""The engines, in the order of the table."""

from airflow_dataflow_provider.model.modes import RuntimeMode
from tests.benchmarks.engines.engine import Engine
from tests.benchmarks.engines.floors import DuckDB, Polars
from tests.benchmarks.engines.handwritten_spark import SparkAggregation, SparkBatch, SparkForeachBatch
from tests.benchmarks.engines.ours import ALWAYS, Ours

__all__ = ["ENGINES", "DuckDB", "Engine", "Ours", "Polars", "SparkAggregation", "SparkBatch", "SparkForeachBatch"]

ENGINES: tuple[Engine, ...] = (
    Ours(),
    SparkAggregation("update"),
    SparkAggregation("append"),
    SparkForeachBatch(),
    Ours("ours-batch", RuntimeMode.BATCH),
    Ours("ours-interval", RuntimeMode.BATCH, ALWAYS),
    SparkBatch(),
    DuckDB(),
    Polars(),
)
