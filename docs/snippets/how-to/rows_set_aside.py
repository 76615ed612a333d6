from airflow_dataflow_provider import SideOutputs

aside = SideOutputs("state")

for row in aside.rejected().iter_rows(named=True):  # rows that cannot be read as elements
    print(row["_file"], row["_reason"], row)

for row in aside.expired().iter_rows(named=True):  # elements whose window had expired when they came
    print(row["_window_start"], row["_delay"], row["_reason"], row)
