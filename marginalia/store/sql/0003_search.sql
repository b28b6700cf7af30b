-- Texts as they are searched (case-folded, composed, single blanks), by version. Made from part_text when a book is
-- opened; whatever has no row is folded while searching, so it may be emptied at any time.
CREATE TABLE search_text (
  text_id BIGINT NOT NULL,
  book_id BIGINT NOT NULL,
  folded VARCHAR NOT NULL
);
