"""The transcripts say something of everything that a pipeline can be written with, on Spark, too."""

from __future__ import annotations

import inspect
import re

from airflow_dataflow_provider import DISCARDING, EARLIEST, INGRESS_TIME, zero_or_more
from airflow_dataflow_provider.model.combiners import Combiner, VectorisedCombiner
from airflow_dataflow_provider.model.par_do import ParDo
from airflow_dataflow_provider.model.triggers import Trigger
from airflow_dataflow_provider.model.windows import WindowStrategy
from airflow_dataflow_provider.testing.transcript import NAMES
from tests.transcripts.files import MODES, ON_SPARK, RUN, TRANSCRIPTS

DEFAULT = {"ACCUMULATING", "END_OF_WINDOW"}
"""What a transcript need not write."""
RETRACTABLE = {"ExactSum", "KeepingValues"}
"""What the engine makes of combiners whose elements may be taken back; nobody writes them."""
BASES = (Combiner, ParDo, Trigger, VectorisedCombiner, WindowStrategy)


def is_written(feature: object) -> bool:
    """Whether pipelines are written with it."""
    if isinstance(feature, type):
        return issubclass(feature, BASES) and feature not in BASES
    is_step = inspect.isfunction(feature) and feature.__module__ == zero_or_more.__module__
    return is_step or isinstance(feature, type(DISCARDING) | type(EARLIEST) | type(INGRESS_TIME))


FEATURES = {name for name, feature in NAMES.items() if is_written(feature)}
WRITTEN = {name: set(re.findall(r"\w+", transcript.code)) for name, transcript in RUN.items()}


def test_there_are_enough_of_them() -> None:
    assert len(TRANSCRIPTS) >= 80
    assert len(TRANSCRIPTS) - len(RUN) >= 20
    assert len({name for name, _ in ON_SPARK}) >= 25
    assert {mode for _, mode in ON_SPARK} == set(MODES)


def test_what_can_be_written_was_found() -> None:
    assert {"AtSignal", "SessionWindows", "TopK", "PerElement", "LATEST", "INGRESS_TIME", "optional"} <= FEATURES


def test_a_feature_has_transcripts_and_one_of_them_runs_on_spark() -> None:
    written = {feature for name, _ in ON_SPARK for feature in WRITTEN[name]}
    assert sorted(FEATURES - DEFAULT - RETRACTABLE - written) == []


def test_the_titles_are_sentences_and_none_is_there_twice() -> None:
    titles = [transcript.title for transcript in TRANSCRIPTS.values()]
    assert len(set(titles)) == len(titles)
    assert [title for title in titles if not re.fullmatch(r"[A-Z].*[.?]", title)] == []


def test_an_engine_is_named_only_where_it_can_be_asked() -> None:
    wrong = [
        (name, engine)
        for name, transcript in RUN.items()
        for engine in transcript.engines
        if engine not in MODES or (engine == "spark-batch" and transcript.batch is None)
    ]
    assert wrong == []
