-- Stores the chunks that are wanted and that the thread does not have. Returns the bytes
-- added.
CREATE OR REPLACE FUNCTION recollect.store_checkpoint_chunks(
    p_tenant text, p_thread uuid, p_hashes bytea[], p_contents bytea[], p_wanted bytea[]
)
RETURNS bigint
LANGUAGE sql AS $$
    WITH added AS (
        INSERT INTO recollect.checkpoint_chunks AS k (tenant_id, thread_id, hash, data)
        SELECT p_tenant, p_thread, u.hash, u.data
        FROM unnest(p_hashes, p_contents) AS u (hash, data)
        JOIN (SELECT DISTINCT w.hash FROM unnest(p_wanted) AS w (hash)) AS wanted ON wanted.hash = u.hash
        ON CONFLICT DO NOTHING
        RETURNING recollect.checkpoint_row_bytes(k) AS bytes
    )
    SELECT COALESCE(sum(added.bytes), 0)::bigint FROM added
$$;
