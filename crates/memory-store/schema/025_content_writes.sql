-- Which attempt of a write holds content before it is written; null: several do, or one of an
-- earlier release. A refused attempt erases what it alone held.
ALTER TABLE recollect.content_holders ADD COLUMN held_by uuid;
