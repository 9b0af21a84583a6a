-- How often messages of the thread were changed: with last_seq, message_count and head_id it
-- tells whether a known path is still what is stored.
ALTER TABLE recollect.threads ADD COLUMN update_count bigint NOT NULL DEFAULT 0;
