-- Whether an extracted summary ended only because the head of its thread left its path: it
-- holds again when the head returns.
ALTER TABLE recollect.memories ADD COLUMN left_path boolean NOT NULL DEFAULT false;
