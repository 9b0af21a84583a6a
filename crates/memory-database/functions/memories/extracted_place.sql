-- The last readable message on the path to a place that facts were extracted from. Null
-- without one.
CREATE OR REPLACE FUNCTION recollect.extracted_place(
    p_tenant text, p_thread uuid, p_branch integer, p_depth integer,
    OUT branch integer, OUT depth integer
)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    SELECT last.branch, last.depth INTO branch, depth
    FROM recollect.path(p_tenant, p_thread, p_branch, p_depth) AS part
    JOIN recollect.branches b
        ON b.tenant_id = p_tenant AND b.thread_id = p_thread AND b.branch = part.branch AND b.extract_seq > 0
    CROSS JOIN LATERAL (
        SELECT m.branch, m.depth
        FROM recollect.messages m
        WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.branch = part.branch
            AND m.depth > part.above AND m.depth <= part.depth
            AND m.deleted_at IS NULL AND m.seq <= b.extract_seq
        ORDER BY m.depth DESC
        LIMIT 1
    ) AS last
    ORDER BY last.depth DESC
    LIMIT 1;
END;
$$;
