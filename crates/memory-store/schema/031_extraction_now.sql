-- Facts are extracted from the messages up to this seq without waiting until the thread is
-- quiet.
ALTER TABLE recollect.distill_jobs ADD COLUMN extract_to bigint NOT NULL DEFAULT 0;
