"""The PostgreSQL engine: one database for many agents, through psycopg. Needs `mnemic[postgres]`."""

from mnemic.store.postgres.store import PostgresStore, open_postgres

__all__ = ["PostgresStore", "open_postgres"]
