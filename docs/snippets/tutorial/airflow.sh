airflow db migrate
airflow dags test orders
airflow dags test orders_report 2026-03-02T11:00:00Z
