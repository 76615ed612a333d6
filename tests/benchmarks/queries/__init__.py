"""The queries by name."""

from tests.benchmarks.queries.counted_sums import CountedSums
from tests.benchmarks.queries.fixed_sums import FixedSums, RefinedSums
from tests.benchmarks.queries.own_combiner import OwnCombiner
from tests.benchmarks.queries.query import Aggregation, ForeachBatch, Query
from tests.benchmarks.queries.session_lengths import SessionLengths
from tests.benchmarks.queries.sessions import SessionSums
from tests.benchmarks.queries.sliding_sums import SlidingSums

__all__ = ["QUERIES", "Aggregation", "ForeachBatch", "Query"]

QUERIES: dict[str, Query] = {
    query.name: query
    for query in (
        FixedSums(),
        SessionSums(),
        RefinedSums(),
        SlidingSums(),
        CountedSums(),
        OwnCombiner(),
        SessionLengths(),
    )
}
