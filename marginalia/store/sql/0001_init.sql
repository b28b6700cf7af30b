-- The first schema. Reasons for its shape: no foreign keys, enums or secondary indexes (they block deletes and later
-- changes), long text only in tables that are appended to, one BIGINT key per table. All times are UTC.
CREATE SEQUENCE book_id;
CREATE SEQUENCE part_id;
CREATE SEQUENCE text_id;
CREATE SEQUENCE summary_id;
CREATE SEQUENCE lorebook_id;
CREATE SEQUENCE entry_id;
CREATE SEQUENCE provider_id;
CREATE SEQUENCE protocol_id;
CREATE SEQUENCE receipt_id;
CREATE SEQUENCE trash_id;

CREATE TABLE book (
  id BIGINT PRIMARY KEY DEFAULT nextval('book_id'),
  uid VARCHAR NOT NULL,
  owner VARCHAR NOT NULL,
  name VARCHAR NOT NULL,
  data JSON NOT NULL,
  leaf_id BIGINT,
  variables JSON NOT NULL DEFAULT '{}',
  created_at TIMESTAMP NOT NULL,
  updated_at TIMESTAMP NOT NULL,
  deleted_at TIMESTAMP
);

CREATE TABLE provider (
  id BIGINT PRIMARY KEY DEFAULT nextval('provider_id'),
  uid VARCHAR NOT NULL,
  owner VARCHAR NOT NULL,
  name VARCHAR NOT NULL,
  data JSON NOT NULL,
  created_at TIMESTAMP NOT NULL,
  updated_at TIMESTAMP NOT NULL,
  deleted_at TIMESTAMP
);

CREATE TABLE protocol (
  id BIGINT PRIMARY KEY DEFAULT nextval('protocol_id'),
  uid VARCHAR NOT NULL,
  owner VARCHAR NOT NULL,
  name VARCHAR NOT NULL,
  data JSON NOT NULL,
  created_at TIMESTAMP NOT NULL,
  updated_at TIMESTAMP NOT NULL,
  deleted_at TIMESTAMP
);

CREATE TABLE lorebook (
  id BIGINT PRIMARY KEY DEFAULT nextval('lorebook_id'),
  uid VARCHAR NOT NULL,
  owner VARCHAR NOT NULL,
  name VARCHAR NOT NULL,
  data JSON NOT NULL,
  created_at TIMESTAMP NOT NULL,
  updated_at TIMESTAMP NOT NULL,
  deleted_at TIMESTAMP
);

CREATE TABLE entry (
  id BIGINT PRIMARY KEY DEFAULT nextval('entry_id'),
  uid VARCHAR NOT NULL,
  lorebook_id BIGINT NOT NULL,
  name VARCHAR NOT NULL,
  data JSON NOT NULL,
  created_at TIMESTAMP,
  deleted_at TIMESTAMP
);

-- Narrow on purpose: the shape of the story without its texts is read whole.
CREATE TABLE part (
  id BIGINT PRIMARY KEY DEFAULT nextval('part_id'),
  uid VARCHAR NOT NULL,
  book_id BIGINT NOT NULL,
  parent_id BIGINT,
  text_id BIGINT NOT NULL DEFAULT 0,
  summary_id BIGINT,
  tokens INTEGER NOT NULL DEFAULT 0,
  words INTEGER NOT NULL DEFAULT 0,
  blank BOOLEAN NOT NULL DEFAULT true,
  partial BOOLEAN NOT NULL DEFAULT false,
  created_at TIMESTAMP NOT NULL,
  deleted_at TIMESTAMP
);

-- Appended to, never updated: every row is one complete version of a part.
CREATE TABLE part_text (
  id BIGINT PRIMARY KEY DEFAULT nextval('text_id'),
  part_id BIGINT NOT NULL,
  book_id BIGINT NOT NULL,
  origin VARCHAR NOT NULL,
  text VARCHAR NOT NULL,
  reasoning VARCHAR NOT NULL,
  lore_id BIGINT,
  receipt_id BIGINT,
  detail JSON NOT NULL,
  created_at TIMESTAMP NOT NULL
);

-- A handful of rows: the parts that wait for their answer, and how to take them back.
CREATE TABLE draft (
  part_id BIGINT PRIMARY KEY,
  book_id BIGINT NOT NULL,
  request VARCHAR NOT NULL,
  text VARCHAR NOT NULL,
  reasoning VARCHAR NOT NULL,
  lore_id BIGINT,
  receipt_id BIGINT,
  detail JSON NOT NULL,
  before JSON NOT NULL
);

CREATE TABLE summary (
  id BIGINT PRIMARY KEY DEFAULT nextval('summary_id'),
  book_id BIGINT NOT NULL,
  part_id BIGINT NOT NULL,
  data JSON NOT NULL,
  created_at TIMESTAMP NOT NULL
);

CREATE TABLE receipt (
  id BIGINT PRIMARY KEY DEFAULT nextval('receipt_id'),
  part_id BIGINT NOT NULL,
  book_id BIGINT NOT NULL,
  model VARCHAR NOT NULL,
  prompt_tokens INTEGER NOT NULL,
  body BLOB NOT NULL,
  created_at TIMESTAMP NOT NULL
);

-- Texts by their content: a key is the start of the text's SHA-256.
CREATE TABLE blob (
  id BIGINT PRIMARY KEY,
  sha256 VARCHAR NOT NULL,
  text VARCHAR NOT NULL
);

CREATE TABLE setting (
  owner VARCHAR NOT NULL,
  key VARCHAR NOT NULL,
  value JSON NOT NULL,
  PRIMARY KEY (owner, key)
);

-- What a deleted thing needs to come back, beyond the rows it still has.
CREATE TABLE trash (
  id BIGINT PRIMARY KEY DEFAULT nextval('trash_id'),
  kind VARCHAR NOT NULL,
  item_id BIGINT NOT NULL,
  book_id BIGINT NOT NULL,
  data JSON NOT NULL,
  deleted_at TIMESTAMP NOT NULL
);
