CREATE TABLE nessie_gc_held_files (
	held_key BINARY(40) NOT NULL,
	repository LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	live_set_id VARCHAR(36) NOT NULL,
	place LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	held_path LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	location LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	path LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	size BIGINT,
	modified BIGINT,
	tables LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	sidecar SMALLINT NOT NULL,
	held BIGINT NOT NULL,
	ends BIGINT NOT NULL,
	state VARCHAR(40) NOT NULL,
	PRIMARY KEY (held_key)
);

CREATE TABLE nessie_gc_leases (
	repository_key BINARY(20) NOT NULL,
	repository LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	owner LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	host LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	process BIGINT NOT NULL,
	since BIGINT NOT NULL,
	ends BIGINT NOT NULL,
	PRIMARY KEY (repository_key)
);

CREATE TABLE nessie_gc_live_sets (
	live_set_id VARCHAR(36) NOT NULL,
	repository LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	created BIGINT NOT NULL,
	status VARCHAR(40) NOT NULL,
	references_listed BIGINT,
	identify_completed BIGINT,
	expiry_started BIGINT,
	expiry_completed BIGINT,
	error_message LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
	policies LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	PRIMARY KEY (live_set_id)
);

CREATE TABLE nessie_gc_schema (
	id SMALLINT NOT NULL,
	version INTEGER NOT NULL,
	PRIMARY KEY (id)
);

CREATE TABLE nessie_gc_seen_contents (
	seen_key BINARY(60) NOT NULL,
	repository LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	content_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	content_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	location LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	first_seen BIGINT NOT NULL,
	last_seen BIGINT NOT NULL,
	PRIMARY KEY (seen_key)
);

CREATE TABLE nessie_gc_tags (
	tag_key BINARY(60) NOT NULL,
	repository LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	holder LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	name LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	prefix LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	branch LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	instant BIGINT NOT NULL,
	state_at BIGINT NOT NULL,
	periods LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	target LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
	made SMALLINT NOT NULL,
	PRIMARY KEY (tag_key)
);

CREATE TABLE nessie_gc_tombstones (
	tombstone_key BINARY(40) NOT NULL,
	repository LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	path LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	at BIGINT NOT NULL,
	PRIMARY KEY (tombstone_key)
);

CREATE TABLE nessie_gc_base_locations (
	live_set_id VARCHAR(36) NOT NULL,
	location_key BINARY(40) NOT NULL,
	content_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	location LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	PRIMARY KEY (live_set_id, location_key),
	FOREIGN KEY(live_set_id) REFERENCES nessie_gc_live_sets (live_set_id) ON DELETE CASCADE
);

CREATE TABLE nessie_gc_content_versions (
	live_set_id VARCHAR(36) NOT NULL,
	version_key BINARY(40) NOT NULL,
	content_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	content_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	metadata_location LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
	snapshot_id BIGINT,
	content_key LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	commit_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	commit_time BIGINT,
	location LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
	PRIMARY KEY (live_set_id, version_key),
	FOREIGN KEY(live_set_id) REFERENCES nessie_gc_live_sets (live_set_id) ON DELETE CASCADE
);

CREATE TABLE nessie_gc_deletion_locations (
	live_set_id VARCHAR(36) NOT NULL,
	location_key BINARY(20) NOT NULL,
	location LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	PRIMARY KEY (live_set_id, location_key),
	FOREIGN KEY(live_set_id) REFERENCES nessie_gc_live_sets (live_set_id) ON DELETE CASCADE
);

CREATE TABLE nessie_gc_file_deletions (
	live_set_id VARCHAR(36) NOT NULL,
	deletion_key BINARY(40) NOT NULL,
	path LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	size BIGINT,
	modified BIGINT,
	PRIMARY KEY (live_set_id, deletion_key),
	FOREIGN KEY(live_set_id) REFERENCES nessie_gc_live_sets (live_set_id) ON DELETE CASCADE
);

CREATE TABLE nessie_gc_heads (
	live_set_id VARCHAR(36) NOT NULL,
	`position` INTEGER NOT NULL,
	name LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	commit_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
	policy LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	PRIMARY KEY (live_set_id, `position`),
	FOREIGN KEY(live_set_id) REFERENCES nessie_gc_live_sets (live_set_id) ON DELETE CASCADE
);

CREATE TABLE nessie_gc_steps (
	live_set_id VARCHAR(36) NOT NULL,
	step_key BINARY(20) NOT NULL,
	unit LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	part LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	state VARCHAR(40) NOT NULL,
	planned_files BIGINT NOT NULL,
	planned_bytes BIGINT NOT NULL,
	outcomes LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	PRIMARY KEY (live_set_id, step_key),
	FOREIGN KEY(live_set_id) REFERENCES nessie_gc_live_sets (live_set_id) ON DELETE CASCADE
);

INSERT INTO nessie_gc_schema (id, version) VALUES (1, 4);
