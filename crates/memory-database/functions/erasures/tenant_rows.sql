-- Erases the rest of a tenant once its threads and memories are erased, about p_limit rows
-- of each table: policies, contents, files, secrets, subscriptions, usage, and all its keys but
-- p_actor, with which the deletion can be followed.
CREATE OR REPLACE FUNCTION recollect.erase_tenant_rows(
    p_tenant text, p_actor text, p_counts jsonb, p_limit bigint,
    OUT counts jsonb, OUT done boolean
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_table text;
    v_count bigint;
BEGIN
    counts := p_counts;
    done := true;
    FOREACH v_table IN ARRAY recollect.tables_with('tenant_id', ARRAY[
        -- The record of changes, erasures, and the queue to object storage with the writes that it
        -- waits for: kept.
        'transactions', 'erasures', 'object_deletions', 'object_writes',
        -- Emptied by the index worker, and below.
        'outbox', 'contents', 'api_keys', 'ephemeral_totals'])
    LOOP
        EXECUTE format(
            'DELETE FROM recollect.%1$I d
             WHERE d.tenant_id = $1 AND d.ctid = ANY (ARRAY(
                SELECT x.ctid FROM recollect.%1$I x WHERE x.tenant_id = $1 LIMIT $2))', v_table)
        USING p_tenant, p_limit;
        GET DIAGNOSTICS v_count = ROW_COUNT;
        counts := recollect.add_count(counts, v_table, v_count);
        done := done AND v_count < p_limit;
    END LOOP;
    WITH erased AS (
        DELETE FROM recollect.contents c
        WHERE c.tenant_id = p_tenant AND c.ctid = ANY (ARRAY(
            SELECT x.ctid FROM recollect.contents x WHERE x.tenant_id = p_tenant LIMIT p_limit))
        RETURNING c.object_key
    ),
    queued AS (
        INSERT INTO recollect.object_deletions (tenant_id, thread_id, node_id, object_key)
        SELECT p_tenant, '00000000-0000-0000-0000-000000000000'::uuid, '', e.object_key FROM erased e
        RETURNING 1
    )
    SELECT count(*) INTO v_count FROM queued;
    counts := recollect.add_count(counts, 'contents', v_count);
    done := done AND v_count < p_limit;
    DELETE FROM recollect.api_keys WHERE tenant_id = p_tenant AND name <> p_actor;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    counts := recollect.add_count(counts, 'api_keys', v_count);
    DELETE FROM recollect.ephemeral_totals WHERE tenant_id = p_tenant;
END;
$$;
