from airflow_dataflow_provider import PaneLogReader


def news(state, seen):
    """The panes of the epochs after `seen`, and the newest epoch: what to call with next time."""
    panes = PaneLogReader(state).panes(since=seen + 1)
    return panes, seen if panes.is_empty() else panes["epoch"].max()


panes, seen = news("state", seen=-1)
more, seen = news("state", seen)
