-- Lists threads of a tenant, of an app, or of a user of an app: by creation or by last
-- change, after a place. The statement is written for each scope and order, because each
-- has its own index. A call reads at most p_scanned threads, and tests the filter on
-- these: the caller continues after the last one that was read.
CREATE OR REPLACE FUNCTION recollect.list_threads(
    p_tenant text,
    -- Null: all.
    p_app text, p_user text,
    p_by_update boolean, p_descending boolean,
    -- Null: from the beginning. By creation only the ordinal counts.
    p_after_time timestamptz, p_after_ordinal bigint,
    -- Null: no filter.
    p_metadata jsonb,
    p_scanned integer, p_limit integer
)
-- At least one row, with a null thread, where threads were read and none is listed.
RETURNS TABLE (
    -- How many threads were read, and the last one of them.
    scanned bigint, last_time timestamptz, last_ordinal bigint, thread recollect.threads
)
LANGUAGE plpgsql STABLE
-- Statistics that lag behind a young table could suggest to sort all threads. (An
-- incremental sort, within a quarter of an hour, is another thing.)
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
#variable_conflict use_column
DECLARE
    v_direction text := CASE WHEN p_descending THEN 'DESC' ELSE 'ASC' END;
    -- The columns of the scope and their values. They are compared as the beginning of a
    -- row and ordered by, so that only the index of the scope gives the order.
    v_columns text[] := CASE WHEN p_user IS NOT NULL THEN ARRAY['t.app_id', 't.user_id']
        WHEN p_app IS NOT NULL THEN ARRAY['t.app_id'] ELSE '{}' END;
    v_values text[] := (ARRAY['$2', '$3'])[1:cardinality(v_columns)];
    v_keys text[] := CASE WHEN p_by_update THEN ARRAY['t.updated_quarter', 't.updated_at', 't.ordinal']
        ELSE ARRAY['t.ordinal'] END;
    v_scope text := 't.tenant_id = $1';
    v_order text;
BEGIN
    SELECT string_agg(format('%s %s', o.key, v_direction), ', ' ORDER BY o.place) INTO v_order
    FROM unnest(v_columns || v_keys) WITH ORDINALITY AS o (key, place);
    IF p_after_ordinal IS NOT NULL THEN
        v_scope := v_scope || format(
            CASE WHEN p_by_update THEN ' AND (%1$s) %3$s= (%2$s) AND (t.updated_at, t.ordinal) %3$s ($4, $5)'
                ELSE ' AND (%1$s) %3$s (%2$s)' END,
            array_to_string(v_columns || v_keys[1], ', '),
            array_to_string(v_values || CASE WHEN p_by_update
                THEN 'date_bin(''15 minutes'', $4 AT TIME ZONE ''UTC'', TIMESTAMP ''2000-01-01'')'
                ELSE '$5' END, ', '),
            CASE WHEN p_descending THEN '<' ELSE '>' END);
    END IF;
    IF v_columns <> '{}' AND (p_after_ordinal IS NULL OR p_descending) THEN
        v_scope := v_scope || format(' AND (%s) >= (%s)', array_to_string(v_columns, ', '), array_to_string(v_values, ', '));
    END IF;
    IF v_columns <> '{}' AND (p_after_ordinal IS NULL OR NOT p_descending) THEN
        v_scope := v_scope || format(' AND (%s) <= (%s)', array_to_string(v_columns, ', '), array_to_string(v_values, ', '));
    END IF;
    RETURN QUERY EXECUTE format($list$
        WITH candidates AS MATERIALIZED (
            SELECT c.*, row_number() OVER () AS place
            FROM (
                SELECT t.thread_id, t.updated_at, t.ordinal,
                    (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
                    AND ($6::jsonb IS NULL OR t.metadata @> $6) AS listed
                FROM recollect.threads t
                WHERE %s
                ORDER BY %s
                LIMIT $7
            ) AS c
        )
        SELECT final.place, final.updated_at, final.ordinal, page.thread
        FROM (SELECT c.* FROM candidates c ORDER BY c.place DESC LIMIT 1) AS final
        LEFT JOIN (
            SELECT c.place, t AS thread
            FROM (SELECT c.* FROM candidates c WHERE c.listed ORDER BY c.place LIMIT $8) AS c
            JOIN recollect.threads t ON t.tenant_id = $1 AND t.thread_id = c.thread_id
        ) AS page ON true
        ORDER BY page.place
        $list$, v_scope, v_order)
    USING p_tenant, p_app, p_user, p_after_time, p_after_ordinal, p_metadata, p_scanned, p_limit;
END;
$$;
