from airflow_dataflow_provider import PaneLogReader, SideOutputs

log = PaneLogReader("state")  # the state, or the pane log itself
log.panes()  # every pane, in the order of publication
log.panes(since=1)  # from epoch 1 on; STATE_PANES_NOT_KEPT where retention has let some of them go
log.current()  # the table that they add up to
log.intervals()  # which epochs have recomputed which intervals

aside = SideOutputs("state")
aside.expired()  # elements whose window had expired: with window, delay and reason
aside.rejected(since=1)  # rows that cannot be read as elements, from epoch 1 on
