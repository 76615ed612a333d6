from airflow_dataflow_provider import PaneLogReader

log = PaneLogReader("state")
print(log.current().select("shop", "window_start", "orders", "turnover", "pane_timing"))
