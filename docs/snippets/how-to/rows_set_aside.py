from airflow_dataflow_provider import SideOutputs

aside = SideOutputs("state")

rejected = aside.rejected()  # rows that cannot be read as elements
print(rejected.select("order", "_file", "_reason"))

expired = aside.expired()  # elements whose window had expired when they came
print(expired.select("shop", "_window_start", "_delay", "_reason"))
