"""Pictures of a stream driven by hand, as SVG: what came, how far the watermark was, and which panes were published."""

from airflow_dataflow_provider.testing.pictures.pane_picture import Point, draw_panes
from airflow_dataflow_provider.testing.pictures.window_picture import draw_windows

__all__ = ["Point", "draw_panes", "draw_windows"]
