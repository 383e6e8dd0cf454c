-- Roles for the live-set store in PostgreSQL. The owner of the tables creates them first, and upgrades them after each
-- new release (nessie-gc create-sql-schema); it needs CREATE on the schema. Nobody else may create or change tables.
-- Then run this in the database, and give each account its roles: GRANT nessie_gc_mark TO my_account;

-- `mark`
CREATE ROLE nessie_gc_mark NOLOGIN;
GRANT SELECT ON nessie_gc_schema, nessie_gc_migrations TO nessie_gc_mark;
GRANT SELECT, INSERT, UPDATE ON nessie_gc_live_sets TO nessie_gc_mark;
GRANT SELECT, INSERT ON nessie_gc_content_versions TO nessie_gc_mark;
GRANT INSERT ON nessie_gc_heads TO nessie_gc_mark;
GRANT SELECT ON nessie_gc_held_files, nessie_gc_seen_contents, nessie_gc_tags, nessie_gc_tombstones TO nessie_gc_mark;
GRANT SELECT ON nessie_gc_reached_places TO nessie_gc_mark;

-- `sweep`, `deferred-deletes`, `restore`, `purge`; with nessie_gc_mark also `gc` and `expire-snapshots`
CREATE ROLE nessie_gc_sweep NOLOGIN;
GRANT SELECT ON nessie_gc_schema, nessie_gc_migrations TO nessie_gc_sweep;
GRANT SELECT ON nessie_gc_content_versions, nessie_gc_heads TO nessie_gc_sweep;
GRANT SELECT, UPDATE ON nessie_gc_live_sets TO nessie_gc_sweep;
GRANT SELECT, INSERT ON nessie_gc_base_locations, nessie_gc_deletion_locations, nessie_gc_reached_places TO nessie_gc_sweep;
GRANT SELECT, INSERT, DELETE ON nessie_gc_file_deletions TO nessie_gc_sweep;
GRANT SELECT, INSERT, UPDATE ON nessie_gc_seen_contents, nessie_gc_steps TO nessie_gc_sweep;
GRANT SELECT, INSERT, UPDATE, DELETE ON nessie_gc_held_files, nessie_gc_leases, nessie_gc_tombstones TO nessie_gc_sweep;

-- `list`, `show`, `list-deferred`, `list-quarantine`
CREATE ROLE nessie_gc_read NOLOGIN;
GRANT SELECT ON nessie_gc_schema, nessie_gc_migrations, nessie_gc_live_sets, nessie_gc_heads TO nessie_gc_read;
GRANT SELECT ON nessie_gc_content_versions, nessie_gc_base_locations, nessie_gc_steps TO nessie_gc_read;
GRANT SELECT ON nessie_gc_deletion_locations, nessie_gc_file_deletions, nessie_gc_held_files TO nessie_gc_read;

-- `delete`, `prune`
CREATE ROLE nessie_gc_prune NOLOGIN;
GRANT SELECT ON nessie_gc_schema, nessie_gc_migrations TO nessie_gc_prune;
GRANT SELECT, DELETE ON nessie_gc_live_sets TO nessie_gc_prune;
GRANT SELECT ON nessie_gc_content_versions, nessie_gc_heads TO nessie_gc_prune;
GRANT SELECT ON nessie_gc_deletion_locations, nessie_gc_file_deletions TO nessie_gc_prune;
GRANT SELECT, INSERT, UPDATE ON nessie_gc_seen_contents TO nessie_gc_prune;
GRANT SELECT, INSERT, UPDATE, DELETE ON nessie_gc_leases TO nessie_gc_prune;

-- `autotag`
CREATE ROLE nessie_gc_tag NOLOGIN;
GRANT SELECT ON nessie_gc_schema, nessie_gc_migrations, nessie_gc_live_sets TO nessie_gc_tag;
GRANT SELECT, INSERT, UPDATE, DELETE ON nessie_gc_leases, nessie_gc_tags TO nessie_gc_tag;

-- `schedule`, besides the roles of the commands that it runs
CREATE ROLE nessie_gc_schedule NOLOGIN;
GRANT SELECT ON nessie_gc_schema, nessie_gc_migrations TO nessie_gc_schedule;
GRANT SELECT, INSERT, UPDATE, DELETE ON nessie_gc_jobs, nessie_gc_job_runs, nessie_gc_run_leases, nessie_gc_table_days TO nessie_gc_schedule;
GRANT SELECT ON nessie_gc_held_files TO nessie_gc_schedule; -- its page shows what is in quarantine
