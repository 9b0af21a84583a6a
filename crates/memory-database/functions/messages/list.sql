-- Lists readable messages of an app, or of one of its users, in the order in which they
-- were said, after a place. The statement is written for each scope and order, because
-- each has its own index. A call reads at most p_scanned messages, and tests the filter on
-- these: the caller continues after the last one that was read.
CREATE OR REPLACE FUNCTION recollect.list_messages(
    p_tenant text, p_app text,
    -- Null: all users.
    p_user text,
    p_descending boolean,
    -- Null: from the beginning.
    p_after_time timestamptz, p_after_id uuid,
    -- Null: no filter.
    p_roles text[], p_names text[], p_users text[], p_start timestamptz, p_end timestamptz, p_metadata jsonb,
    p_scanned integer, p_limit integer, p_max_bytes bigint
)
-- At least one row, with a null message, where messages were read and none is listed.
RETURNS TABLE (
    -- How many messages were read, and the last one of them.
    scanned bigint, last_time timestamptz, last_id uuid,
    -- How many rows there were before the bytes bounded the page.
    found_count bigint,
    message recollect.message
)
LANGUAGE plpgsql STABLE
-- Statistics that lag behind a young table could suggest to sort all messages.
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_incremental_sort = off
AS $$
#variable_conflict use_column
DECLARE
    v_direction text := CASE WHEN p_descending THEN 'DESC' ELSE 'ASC' END;
    -- The columns of the scope and their values. They are compared as the beginning of a
    -- row and ordered by, so that only the index of the scope gives the order.
    v_columns text := CASE WHEN p_user IS NULL THEN 'm.app_id' ELSE 'm.app_id, m.user_id' END;
    v_values text := CASE WHEN p_user IS NULL THEN '$2' ELSE '$2, $3' END;
    v_after text := format(' AND (%s, m.said_at, m.message_id) %s (%s, $4, $5)',
        v_columns, CASE WHEN p_descending THEN '<' ELSE '>' END, v_values);
    v_scope text := 'm.tenant_id = $1';
BEGIN
    v_scope := v_scope || CASE WHEN p_after_id IS NOT NULL AND NOT p_descending THEN v_after
        ELSE format(' AND (%s, m.said_at) >= (%s, COALESCE($8, ''-infinity''))', v_columns, v_values) END;
    v_scope := v_scope || CASE WHEN p_after_id IS NOT NULL AND p_descending THEN v_after
        ELSE format(' AND (%s, m.said_at) < (%s, COALESCE($9, ''infinity''))', v_columns, v_values) END;
    -- The place may be out of the time range.
    IF p_after_id IS NOT NULL THEN
        v_scope := v_scope || ' AND m.said_at >= COALESCE($8, ''-infinity'') AND m.said_at < COALESCE($9, ''infinity'')';
    END IF;
    RETURN QUERY EXECUTE format($list$
        WITH candidates AS MATERIALIZED (
            SELECT c.*, row_number() OVER () AS place
            FROM (
                SELECT m.thread_id, m.seq, m.message_id, m.said_at, m.bytes,
                    ($6::text[] IS NULL OR m.role = ANY ($6))
                    AND ($7::text[] IS NULL OR m.name = ANY ($7))
                    AND ($14::text[] IS NULL OR m.said_by = ANY ($14))
                    AND ($10::jsonb IS NULL OR m.metadata @> $10) AS listed
                FROM recollect.messages m
                WHERE %1$s AND m.deleted_at IS NULL
                ORDER BY %2$s, m.said_at %3$s, m.message_id %3$s
                LIMIT $11
            ) AS c
        ),
        page AS (
            SELECT c.*, sum(c.bytes) OVER (ORDER BY c.place) AS running_bytes, count(*) OVER () AS found_count
            FROM (
                SELECT c.*
                FROM candidates c
                JOIN recollect.threads t ON t.tenant_id = $1 AND t.thread_id = c.thread_id
                WHERE c.listed AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
                ORDER BY c.place
                LIMIT $12
            ) AS c
        )
        SELECT final.place, final.said_at, final.message_id, page.found_count,
            CASE WHEN m.message_id IS NOT NULL THEN recollect.readable(m) END
        FROM (SELECT c.* FROM candidates c ORDER BY c.place DESC LIMIT 1) AS final
        -- The first message is returned even if it is too large.
        LEFT JOIN page ON page.running_bytes <= $13 OR page.running_bytes = page.bytes
        LEFT JOIN recollect.messages m
            ON m.tenant_id = $1 AND m.thread_id = page.thread_id AND m.seq = page.seq
        ORDER BY page.place
        $list$, v_scope, replace(v_columns, ',', format(' %s,', v_direction)) || ' ' || v_direction, v_direction)
    USING p_tenant, p_app, p_user, p_after_time, p_after_id, p_roles, p_names, p_start, p_end, p_metadata,
        p_scanned, p_limit, p_max_bytes, p_users;
END;
$$;
