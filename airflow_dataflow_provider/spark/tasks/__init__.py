"""What every task of Spark's needs: users' code, and errors on their way to the driver."""
