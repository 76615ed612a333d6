airflow backfill create --dag-id nightly_orders --from-date 2026-03-01 --to-date 2026-03-07 --reprocess-behavior completed --max-active-runs 1
