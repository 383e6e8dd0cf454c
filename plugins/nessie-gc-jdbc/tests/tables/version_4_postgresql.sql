CREATE TABLE nessie_gc_held_files (
	held_key BYTEA NOT NULL,
	repository TEXT COLLATE "C" NOT NULL,
	live_set_id VARCHAR(36) NOT NULL,
	place TEXT COLLATE "C" NOT NULL,
	held_path TEXT COLLATE "C" NOT NULL,
	location TEXT COLLATE "C" NOT NULL,
	path TEXT COLLATE "C" NOT NULL,
	size BIGINT,
	modified BIGINT,
	tables TEXT COLLATE "C" NOT NULL,
	sidecar SMALLINT NOT NULL,
	held BIGINT NOT NULL,
	ends BIGINT NOT NULL,
	state VARCHAR(40) NOT NULL,
	PRIMARY KEY (held_key)
);

CREATE TABLE nessie_gc_leases (
	repository_key BYTEA NOT NULL,
	repository TEXT COLLATE "C" NOT NULL,
	owner TEXT COLLATE "C" NOT NULL,
	host TEXT COLLATE "C" NOT NULL,
	process BIGINT NOT NULL,
	since BIGINT NOT NULL,
	ends BIGINT NOT NULL,
	PRIMARY KEY (repository_key)
);

CREATE TABLE nessie_gc_live_sets (
	live_set_id VARCHAR(36) NOT NULL,
	repository TEXT COLLATE "C" NOT NULL,
	created BIGINT NOT NULL,
	status VARCHAR(40) NOT NULL,
	references_listed BIGINT,
	identify_completed BIGINT,
	expiry_started BIGINT,
	expiry_completed BIGINT,
	error_message TEXT COLLATE "C",
	policies TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (live_set_id)
);

CREATE TABLE nessie_gc_schema (
	id SMALLINT NOT NULL,
	version INTEGER NOT NULL,
	PRIMARY KEY (id)
);

CREATE TABLE nessie_gc_seen_contents (
	seen_key BYTEA NOT NULL,
	repository TEXT COLLATE "C" NOT NULL,
	content_id TEXT COLLATE "C" NOT NULL,
	content_type TEXT COLLATE "C" NOT NULL,
	location TEXT COLLATE "C" NOT NULL,
	first_seen BIGINT NOT NULL,
	last_seen BIGINT NOT NULL,
	PRIMARY KEY (seen_key)
);

CREATE TABLE nessie_gc_tags (
	tag_key BYTEA NOT NULL,
	repository TEXT COLLATE "C" NOT NULL,
	holder TEXT COLLATE "C" NOT NULL,
	name TEXT COLLATE "C" NOT NULL,
	prefix TEXT COLLATE "C" NOT NULL,
	branch TEXT COLLATE "C" NOT NULL,
	instant BIGINT NOT NULL,
	state_at BIGINT NOT NULL,
	periods TEXT COLLATE "C" NOT NULL,
	target TEXT COLLATE "C",
	made SMALLINT NOT NULL,
	PRIMARY KEY (tag_key)
);

CREATE TABLE nessie_gc_tombstones (
	tombstone_key BYTEA NOT NULL,
	repository TEXT COLLATE "C" NOT NULL,
	path TEXT COLLATE "C" NOT NULL,
	at BIGINT NOT NULL,
	PRIMARY KEY (tombstone_key)
);

CREATE TABLE nessie_gc_base_locations (
	live_set_id VARCHAR(36) NOT NULL,
	location_key BYTEA NOT NULL,
	content_id TEXT COLLATE "C" NOT NULL,
	location TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (live_set_id, location_key),
	FOREIGN KEY(live_set_id) REFERENCES nessie_gc_live_sets (live_set_id) ON DELETE CASCADE
);

CREATE TABLE nessie_gc_content_versions (
	live_set_id VARCHAR(36) NOT NULL,
	version_key BYTEA NOT NULL,
	content_id TEXT COLLATE "C" NOT NULL,
	content_type TEXT COLLATE "C" NOT NULL,
	metadata_location TEXT COLLATE "C",
	snapshot_id BIGINT,
	content_key TEXT COLLATE "C" NOT NULL,
	commit_id TEXT COLLATE "C" NOT NULL,
	commit_time BIGINT,
	location TEXT COLLATE "C",
	PRIMARY KEY (live_set_id, version_key),
	FOREIGN KEY(live_set_id) REFERENCES nessie_gc_live_sets (live_set_id) ON DELETE CASCADE
);

CREATE TABLE nessie_gc_deletion_locations (
	live_set_id VARCHAR(36) NOT NULL,
	location_key BYTEA NOT NULL,
	location TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (live_set_id, location_key),
	FOREIGN KEY(live_set_id) REFERENCES nessie_gc_live_sets (live_set_id) ON DELETE CASCADE
);

CREATE TABLE nessie_gc_file_deletions (
	live_set_id VARCHAR(36) NOT NULL,
	deletion_key BYTEA NOT NULL,
	path TEXT COLLATE "C" NOT NULL,
	size BIGINT,
	modified BIGINT,
	PRIMARY KEY (live_set_id, deletion_key),
	FOREIGN KEY(live_set_id) REFERENCES nessie_gc_live_sets (live_set_id) ON DELETE CASCADE
);

CREATE TABLE nessie_gc_heads (
	live_set_id VARCHAR(36) NOT NULL,
	position INTEGER NOT NULL,
	name TEXT COLLATE "C" NOT NULL,
	commit_id TEXT COLLATE "C",
	policy TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (live_set_id, position),
	FOREIGN KEY(live_set_id) REFERENCES nessie_gc_live_sets (live_set_id) ON DELETE CASCADE
);

CREATE TABLE nessie_gc_steps (
	live_set_id VARCHAR(36) NOT NULL,
	step_key BYTEA NOT NULL,
	unit TEXT COLLATE "C" NOT NULL,
	part TEXT COLLATE "C" NOT NULL,
	state VARCHAR(40) NOT NULL,
	planned_files BIGINT NOT NULL,
	planned_bytes BIGINT NOT NULL,
	outcomes TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (live_set_id, step_key),
	FOREIGN KEY(live_set_id) REFERENCES nessie_gc_live_sets (live_set_id) ON DELETE CASCADE
);

INSERT INTO nessie_gc_schema (id, version) VALUES (1, 4);
