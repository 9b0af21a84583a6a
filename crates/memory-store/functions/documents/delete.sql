-- Erases documents by name. Returns how many of them were readable.
CREATE OR REPLACE FUNCTION recollect.delete_documents(
    p_tenant text, p_actor text, p_app text, p_owner bytea, p_namespaces text[], p_keys text[],
    OUT deleted_count bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_paths text[] := recollect.document_paths(p_namespaces);
    v_all bigint;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    WITH named AS (
        SELECT d.path, d.key
        FROM unnest(v_paths, p_keys) AS u (path, key)
        JOIN recollect.documents d
            ON d.tenant_id = p_tenant AND d.owner = p_owner AND d.path = u.path AND d.key = u.key
        -- In order, to avoid deadlocks.
        ORDER BY d.path, d.key
        FOR UPDATE OF d
    ),
    deleted AS (
        DELETE FROM recollect.documents d
        USING named
        WHERE d.tenant_id = p_tenant AND d.owner = p_owner AND d.path = named.path AND d.key = named.key
        RETURNING d.expires_at
    )
    SELECT count(*), count(*) FILTER (WHERE deleted.expires_at IS NULL OR deleted.expires_at > clock_timestamp())
    INTO v_all, deleted_count
    FROM deleted;
    IF v_all > 0 THEN
        PERFORM recollect.note(p_tenant, 'delete_documents', NULL, p_app, v_all);
    END IF;
END;
$$;
