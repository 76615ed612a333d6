"""What users test their own pipelines with: a hand-driven clock, pane assertions, hypothesis strategies."""
