-- Marks of the writer on parts, and the steps that can be undone and redone. A step holds how the rows of the story were
-- before and after it, without texts: those are never overwritten.
ALTER TABLE part ADD COLUMN label VARCHAR DEFAULT '';
ALTER TABLE part ADD COLUMN bookmarked BOOLEAN DEFAULT false;

CREATE SEQUENCE step_id;

CREATE TABLE step (
  id BIGINT PRIMARY KEY DEFAULT nextval('step_id'),
  book_id BIGINT NOT NULL,
  kind VARCHAR NOT NULL,
  part_id BIGINT,
  undone BOOLEAN NOT NULL DEFAULT false,
  data JSON NOT NULL,
  created_at TIMESTAMP NOT NULL
);
