from orders import orders

from airflow_dataflow_provider import run

status = run(orders, "micro-batch", state="state")
print(status.state, status.panes, [finding.what for finding in status.findings])
