"""The engines, in the order of the table."""

from tests.benchmarks.engines.engine import Engine
from tests.benchmarks.engines.floors import DuckDB, Polars
from tests.benchmarks.engines.handwritten_spark import HandwrittenSpark
from tests.benchmarks.engines.ours import Ours

ENGINES: tuple[Engine, ...] = (
    Ours(),
    HandwrittenSpark("update"),
    HandwrittenSpark("append"),
    DuckDB(),
    Polars(),
)
