cp -r state backup
dataflow verify --state backup
