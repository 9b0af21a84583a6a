-- Erases documents by name. Returns how many of them were readable.
CREATE OR REPLACE FUNCTION recollect.delete_documents(
    p_tenant text, p_actor text, p_app text, p_owner bytea, p_namespaces text[], p_keys text[],
    -- What the audit log records. Null: delete_documents; empty: nothing.
    p_action text,
    OUT deleted_count bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_paths text[] := recollect.document_paths(p_namespaces);
    v_all bigint := 0;
    v_named record;
    v_expires timestamptz;
    v_owner text;
    v_user text;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    deleted_count := 0;
    -- In order, to avoid deadlocks; one at a time, as recollect.refresh_documents explains.
    FOR v_named IN
        SELECT DISTINCT u.path COLLATE "C" AS path, u.key COLLATE "C" AS key
        FROM unnest(v_paths, p_keys) AS u (path, key)
        ORDER BY 1, 2
    LOOP
        DELETE FROM recollect.documents d
        WHERE d.tenant_id = p_tenant AND d.owner = p_owner AND d.path = v_named.path AND d.key = v_named.key
        RETURNING d.expires_at, d.user_id INTO v_expires, v_owner;
        IF FOUND THEN
            -- A name that is not found sets v_owner to null.
            v_user := v_owner;
            v_all := v_all + 1;
            IF v_expires IS NULL OR v_expires > clock_timestamp() THEN
                deleted_count := deleted_count + 1;
            END IF;
        END IF;
    END LOOP;
    IF v_all > 0 AND p_action IS DISTINCT FROM '' THEN
        PERFORM recollect.audit_of(
            p_tenant, COALESCE(p_action, 'delete_documents'), NULL, p_app, v_all, p_app, v_user);
    END IF;
END;
$$;
