dataflow status --state state
dataflow status --state state --json
