"""Where results are published: the pane log's writer, its files, and few files of many."""
