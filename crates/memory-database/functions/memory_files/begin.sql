-- Begins a change of the files of a user or an app: no other change of them begins before the
-- transaction ends. Returns how many files there are, and their bytes as JSON.
CREATE OR REPLACE FUNCTION recollect.begin_memory_files(
    p_tenant text, p_app text, p_user text, p_owner bytea,
    OUT file_count bigint, OUT byte_count bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_path text := recollect.document_path(ARRAY['recollect.files']);
BEGIN
    -- A process that holds the lock for longer than a few changes take keeps others waiting, each with a
    -- connection: they end, and may be repeated. One that stops between its queries loses the lock.
    PERFORM set_config('lock_timeout', '10s', true), set_config('idle_in_transaction_session_timeout', '30s', true);
    PERFORM recollect.allow_creation(p_tenant, p_app, p_user);
    PERFORM pg_advisory_xact_lock(hashtextextended('memory files/' || encode(p_owner, 'hex') || '/' || p_tenant, 0));
    SELECT count(*), COALESCE(sum(d.size_bytes), 0)
    INTO file_count, byte_count
    FROM recollect.documents d
    WHERE d.tenant_id = p_tenant AND d.owner = p_owner
        AND d.path >= v_path AND d.path < recollect.document_path_end(v_path)
        AND (d.expires_at IS NULL OR d.expires_at > clock_timestamp());
END;
$$;
