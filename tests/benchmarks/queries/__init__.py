"""The queries by name."""

from tests.benchmarks.queries.fixed_sums import FixedSums
from tests.benchmarks.queries.query import Query

QUERIES: dict[str, Query] = {query.name: query for query in (FixedSums(),)}
