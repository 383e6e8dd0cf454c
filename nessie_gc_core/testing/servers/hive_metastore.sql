-- What lock, check_lock, heartbeat, show_locks and unlock read and write outside of transactions.
create table NEXT_LOCK_ID (NL_NEXT bigint not null);
insert into NEXT_LOCK_ID values (1);
create table HIVE_LOCKS (
  HL_LOCK_EXT_ID bigint not null,
  HL_LOCK_INT_ID bigint not null,
  HL_TXNID bigint not null,
  HL_DB varchar(128) not null,
  HL_TABLE varchar(256),
  HL_PARTITION varchar(767),
  HL_LOCK_STATE char(1) not null,
  HL_LOCK_TYPE char(1) not null,
  HL_LAST_HEARTBEAT bigint not null,
  HL_HEARTBEAT_COUNT integer,
  HL_ACQUIRED_AT bigint,
  HL_BLOCKEDBY_EXT_ID bigint,
  HL_BLOCKEDBY_INT_ID bigint,
  HL_USER varchar(128) not null,
  HL_HOST varchar(128) not null,
  HL_AGENT_INFO varchar(128),
  primary key (HL_LOCK_EXT_ID, HL_LOCK_INT_ID)
);
