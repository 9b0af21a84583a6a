-- Bytes of a thread's messages (parts and metadata), attempts and events, for the quota of
-- its tenant. Null in a thread of an earlier release until recollect.storage_usage has counted
-- them. No index may use the column: every append changes it.
ALTER TABLE recollect.threads ADD COLUMN stored_bytes bigint;
ALTER TABLE recollect.threads ALTER COLUMN stored_bytes SET DEFAULT 0;
