-- Reads checkpoints with their values and writes, the greatest id first: of one thread, or of a
-- user or an app's data of no user. All of it is of one moment, because the function is stable.
CREATE OR REPLACE FUNCTION recollect.read_checkpoints(
    p_tenant text,
    -- Null: of p_app and p_user.
    p_thread uuid, p_app text, p_user text,
    -- Null: any.
    p_namespace text, p_checkpoint text, p_before text, p_metadata text,
    -- The last one of the page before; null: the first page.
    p_after_checkpoint text, p_after_thread uuid, p_after_namespace text,
    p_limit bigint,
    -- The page ends before a checkpoint with which it would have more bytes; it has at least one.
    p_max_bytes bigint
)
RETURNS TABLE (
    -- The place of the checkpoint, from 1. Its row comes first, then its values, then its writes. Of the
    -- chunks of all of them, each of which comes once and before, 0.
    place bigint,
    -- chunk, checkpoint, value or write.
    kind text,
    thread_id uuid, session_key text, namespace text, checkpoint_id text, parent_id text, metadata text,
    created_at timestamptz,
    -- Whether there are more checkpoints after this page.
    more boolean,
    task_id text, index integer, task_path text, channel text, version text, type text,
    -- The packed bytes, then the hashes of the chunks that follow them. Of a chunk its hash and its
    -- packed bytes.
    data bytea[]
)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    v_threads uuid[];
    v_namespaces text[];
    v_checkpoints text[];
    v_more boolean;
BEGIN
    SELECT array_agg(f.thread_id ORDER BY f.number) FILTER (WHERE f.fits),
        array_agg(f.namespace ORDER BY f.number) FILTER (WHERE f.fits),
        array_agg(f.checkpoint_id ORDER BY f.number) FILTER (WHERE f.fits),
        bool_or(NOT f.fits)
    INTO v_threads, v_namespaces, v_checkpoints, v_more
    FROM (
        SELECT s.*, s.number <= p_limit
            AND (s.number = 1 OR sum(s.bytes) OVER (ORDER BY s.number) <= p_max_bytes) AS fits
        FROM (
            SELECT c.thread_id, c.namespace, c.checkpoint_id,
                row_number() OVER (ORDER BY c.checkpoint_id DESC, c.thread_id, c.namespace) AS number,
                256 + c.size_bytes + octet_length(c.metadata::text) + octet_length(c.namespace)
                + octet_length(c.checkpoint_id) + octet_length(c.parent_id)
                + (SELECT COALESCE(sum(32 + v.size_bytes + octet_length(v.channel) + octet_length(v.version) + octet_length(v.type)), 0)
                   FROM recollect.checkpoint_values v
                   WHERE v.tenant_id = p_tenant AND v.thread_id = c.thread_id AND v.digest = ANY (c.value_digests))
                + (SELECT COALESCE(sum(w.size_bytes + recollect.checkpoint_write_names(w.task_id, w.task_path, w.channel, w.type)), 0)
                   FROM recollect.checkpoint_writes w
                   WHERE w.tenant_id = p_tenant AND w.thread_id = c.thread_id AND w.namespace = c.namespace
                       AND w.checkpoint_id = c.checkpoint_id) AS bytes
            FROM (
                SELECT x.*
                FROM recollect.threads t
                JOIN recollect.checkpoints x ON x.tenant_id = p_tenant AND x.thread_id = t.thread_id
                WHERE t.tenant_id = p_tenant
                    AND (p_thread IS NULL OR t.thread_id = p_thread)
                    AND (p_app IS NULL OR t.app_id = p_app AND t.user_id = p_user)
                    AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
                    AND (p_namespace IS NULL OR x.namespace = p_namespace)
                    AND (p_checkpoint IS NULL OR x.checkpoint_id = p_checkpoint)
                    AND (p_before IS NULL OR x.checkpoint_id < p_before)
                    AND (p_metadata IS NULL OR recollect.checkpoint_metadata_matches(x.metadata, ARRAY[p_metadata::jsonb]))
                    AND (p_after_checkpoint IS NULL
                        OR x.checkpoint_id < p_after_checkpoint
                        OR x.checkpoint_id = p_after_checkpoint
                            AND (x.thread_id, x.namespace) > (p_after_thread, p_after_namespace COLLATE "C"))
                ORDER BY x.checkpoint_id DESC, x.thread_id, x.namespace
                LIMIT p_limit + 1
            ) AS c
        ) AS s
    ) AS f;
    RETURN QUERY
    WITH page AS MATERIALIZED (
        SELECT u.place, c.thread_id, t.session_key, c.namespace, c.checkpoint_id, c.parent_id, c.metadata,
            c.created_at, c.type, c.data, c.value_digests
        FROM unnest(v_threads, v_namespaces, v_checkpoints) WITH ORDINALITY
            AS u (thread_id, namespace, checkpoint_id, place)
        JOIN recollect.checkpoints c
            ON c.tenant_id = p_tenant AND c.thread_id = u.thread_id AND c.namespace = u.namespace
            AND c.checkpoint_id = u.checkpoint_id
        JOIN recollect.threads t ON t.tenant_id = p_tenant AND t.thread_id = u.thread_id
    ),
    parts AS MATERIALIZED (
        SELECT p.place, 'value' AS kind, p.thread_id, '' AS task_id, 0 AS index, '' COLLATE "C" AS task_path,
            v.channel COLLATE "C" AS channel, v.version, v.type, v.data, v.chunks
        FROM page p
        JOIN recollect.checkpoint_values v
            ON v.tenant_id = p_tenant AND v.thread_id = p.thread_id AND v.digest = ANY (p.value_digests)
        UNION ALL
        SELECT p.place, 'write', p.thread_id, w.task_id, w.index, w.task_path, w.channel, '', w.type, w.data, w.chunks
        FROM page p
        JOIN recollect.checkpoint_writes w
            ON w.tenant_id = p_tenant AND w.thread_id = p.thread_id AND w.namespace = p.namespace
            AND w.checkpoint_id = p.checkpoint_id
    )
    SELECT r.*
    FROM (
        SELECT p.place, 'checkpoint' AS kind, p.thread_id, p.session_key, p.namespace, p.checkpoint_id, p.parent_id,
            p.metadata::text, p.created_at, v_more,
            '' AS task_id, 0 AS index, '' COLLATE "C" AS task_path, '' COLLATE "C" AS channel, '' AS version, p.type,
            ARRAY[p.data] AS data
        FROM page p
        UNION ALL
        SELECT p.place, p.kind, p.thread_id, '', '', '', '', '', clock_timestamp(), v_more, p.task_id, p.index, p.task_path,
            p.channel, p.version, p.type, p.data || p.chunks
        FROM parts p
        UNION ALL
        SELECT 0, 'chunk', k.thread_id, '', '', '', '', '', clock_timestamp(), v_more, '', 0, '', '', '', '',
            ARRAY[k.hash, k.data]
        FROM (SELECT DISTINCT p.thread_id, h.hash FROM parts p CROSS JOIN unnest(p.chunks) AS h (hash)) AS u
        JOIN recollect.checkpoint_chunks k ON k.tenant_id = p_tenant AND k.thread_id = u.thread_id AND k.hash = u.hash
    ) AS r
    -- Alphabetic: checkpoint, value, write.
    ORDER BY r.place, r.kind, r.task_path, r.task_id COLLATE "C", r.index, r.channel;
END;
$$;
