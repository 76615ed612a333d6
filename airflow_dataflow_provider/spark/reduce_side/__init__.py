"""The reduce side: state in, one kernel call a state partition, panes and state out."""
