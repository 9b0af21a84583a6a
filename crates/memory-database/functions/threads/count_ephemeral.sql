-- Keeps ephemeral_totals when an ephemeral thread is created, changes its size or is
-- erased. A transaction that changes memories or other threads does so before, because the
-- row stays locked until it commits.
CREATE OR REPLACE FUNCTION recollect.count_ephemeral()
RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO recollect.ephemeral_totals AS e (tenant_id, thread_count, content_bytes)
    VALUES (
        COALESCE(NEW.tenant_id, OLD.tenant_id),
        (NEW.idle_ttl IS NOT NULL)::integer - (OLD.idle_ttl IS NOT NULL)::integer,
        COALESCE(NEW.content_bytes, 0) - COALESCE(OLD.content_bytes, 0))
    ON CONFLICT (tenant_id) DO UPDATE
    SET thread_count = e.thread_count + excluded.thread_count,
        content_bytes = e.content_bytes + excluded.content_bytes;
    RETURN NULL;
END;
$$;

-- Once: creating a trigger waits for all transactions that write threads.
DO $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM pg_catalog.pg_trigger t
        WHERE t.tgrelid = 'recollect.threads'::regclass AND t.tgname = 'ephemeral_created')
    THEN
        CREATE TRIGGER ephemeral_created AFTER INSERT ON recollect.threads
            FOR EACH ROW WHEN (NEW.idle_ttl IS NOT NULL) EXECUTE FUNCTION recollect.count_ephemeral();
        CREATE TRIGGER ephemeral_changed AFTER UPDATE OF content_bytes ON recollect.threads
            FOR EACH ROW WHEN (NEW.content_bytes <> OLD.content_bytes) EXECUTE FUNCTION recollect.count_ephemeral();
        CREATE TRIGGER ephemeral_erased AFTER DELETE ON recollect.threads
            FOR EACH ROW WHEN (OLD.idle_ttl IS NOT NULL) EXECUTE FUNCTION recollect.count_ephemeral();
    END IF;
END;
$$;
