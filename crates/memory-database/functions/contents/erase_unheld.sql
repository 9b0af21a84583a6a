-- Erases the contents, of these, that have no holder, and queues the deletion of their
-- objects. The caller has locked their rows.
CREATE OR REPLACE FUNCTION recollect.erase_unheld_contents(p_tenant text, p_digests bytea[])
RETURNS void
LANGUAGE sql AS $$
    WITH erased AS (
        DELETE FROM recollect.contents c
        WHERE c.tenant_id = p_tenant AND c.digest = ANY (p_digests)
            -- The holder at or after the digest in the index: one probe each, where a join
            -- would read all holders of the tenant.
            AND c.digest IS DISTINCT FROM (
                SELECT h.digest
                FROM recollect.content_holders h
                WHERE h.tenant_id = p_tenant AND h.digest >= c.digest
                ORDER BY h.digest
                LIMIT 1)
        RETURNING c.object_key
    )
    -- They belong to no thread and no node.
    INSERT INTO recollect.object_deletions (tenant_id, thread_id, node_id, object_key)
    SELECT p_tenant, '00000000-0000-0000-0000-000000000000'::uuid, '', e.object_key
    FROM erased e;
$$;
