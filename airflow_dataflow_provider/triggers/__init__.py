"""Triggers that wait in Airflow's triggerer. Import from the modules; this package exports nothing."""
