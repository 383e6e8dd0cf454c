-- Roles for Nessie's own database in PostgreSQL. Run this in that database, and give each account its role:
-- GRANT nessie_gc_internal_purge TO my_account;

-- `internal-gc --dry-run`
CREATE ROLE nessie_gc_internal_read NOLOGIN;
GRANT USAGE ON SCHEMA public TO nessie_gc_internal_read;
GRANT SELECT ON refs2, objs2 TO nessie_gc_internal_read;

-- `internal-gc`
CREATE ROLE nessie_gc_internal_purge NOLOGIN;
GRANT USAGE ON SCHEMA public TO nessie_gc_internal_purge;
GRANT SELECT ON refs2, objs2 TO nessie_gc_internal_purge;
GRANT DELETE ON objs2 TO nessie_gc_internal_purge;
