dataflow run orders.py:orders --mode batch --state state --from 2026-03-02T00:00:00Z --to 2026-03-03T00:00:00Z
