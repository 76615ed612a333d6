import polars as pl

from airflow_dataflow_provider import PaneLogReader

log = PaneLogReader("state")  # the state's URL, as the run had it

table = log.current()  # the newest result of each key and window
panes = log.panes()  # every result as it was published, in order
new = log.panes(since=1)  # those of epoch 1 and later

vienna = table.filter(pl.col("shop") == "Vienna").sort("window_start")
print(vienna.select("window_start", "orders", "turnover", "completeness"))

frame = log.current(to="pandas")
arrow = log.current(to="arrow")
