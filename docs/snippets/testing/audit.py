from orders import orders

from airflow_dataflow_provider import PaneLogReader
from airflow_dataflow_provider.testing.audit import panes_of_reference
from airflow_dataflow_provider.testing.frames import panes_of
from airflow_dataflow_provider.testing.panes import assert_panes

panes = panes_of(PaneLogReader("state").panes(), orders.grouping)
assert_panes(panes, panes_of_reference("state", orders), relative=1e-9)
