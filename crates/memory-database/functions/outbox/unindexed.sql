-- The messages or memories of a scope that wait to be indexed: the changes of the newest p_limit, the
-- newest first, the ids of what they change, and how many more wait, counted up to p_counted. Superseded
-- changes are not among them; a message may have been deleted since. Dead letters do not wait.
-- p_collection is the one that is searched; null: the serving one. One that receives no changes
-- lacks an unknown number of them.
--
-- The scope is a thread, a user of some apps, or an app. For memories of users, p_threads are
-- the queues of these. Each is a backward scan of one index, which ends with the limit.
CREATE OR REPLACE FUNCTION recollect.unindexed(
    p_tenant text, p_kind text, p_apps text[], p_user text, p_threads uuid[],
    p_limit integer, p_counted integer, p_collection text DEFAULT NULL,
    OUT changes bigint[], OUT ids uuid[], OUT more bigint
)
LANGUAGE plpgsql
-- Outdated statistics of the queue could suggest a plan that reads and sorts all of it.
SET enable_sort = off SET enable_bitmapscan = off SET enable_seqscan = off
-- A LIMIT from a parameter is planned again for each execution otherwise.
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    v_target integer := recollect.collection_number(p_collection);
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true);
    IF v_target IS NULL THEN
        changes := '{}';
        ids := '{}';
        more := p_counted;
        RETURN;
    END IF;
    -- dead_order is null where dead_at is, but allows no plan over outbox_live, which
    -- would read the changes of all tenants.
    IF p_threads IS NOT NULL THEN
        SELECT array_agg(waiting.id ORDER BY waiting.id DESC), array_agg(waiting.message_id ORDER BY waiting.id DESC)
        INTO changes, ids
        FROM (
            SELECT waiting.id, waiting.message_id
            FROM unnest(p_threads) AS threads (id)
            CROSS JOIN LATERAL (
                SELECT o.id, o.message_id FROM recollect.outbox o
                WHERE o.tenant_id = p_tenant AND o.thread_id = threads.id AND o.target = v_target AND o.dead_order IS NULL
                    AND o.op = 'upsert' AND o.kind = p_kind AND o.app_id IS NOT NULL
                ORDER BY o.id DESC LIMIT p_limit + p_counted
            ) AS waiting
            ORDER BY waiting.id DESC LIMIT p_limit + p_counted
        ) AS waiting;
    ELSIF p_user IS NOT NULL THEN
        SELECT array_agg(waiting.id ORDER BY waiting.id DESC), array_agg(waiting.message_id ORDER BY waiting.id DESC)
        INTO changes, ids
        FROM (
            SELECT waiting.id, waiting.message_id
            FROM unnest(p_apps) AS apps (id)
            CROSS JOIN LATERAL (
                SELECT o.id, o.message_id FROM recollect.outbox o
                WHERE o.tenant_id = p_tenant AND o.user_queue = recollect.memory_queue(p_tenant, apps.id, p_user)
                    AND o.target = v_target AND o.dead_order IS NULL
                ORDER BY o.id DESC LIMIT p_limit + p_counted
            ) AS waiting
            ORDER BY waiting.id DESC LIMIT p_limit + p_counted
        ) AS waiting;
    ELSE
        SELECT array_agg(waiting.id ORDER BY waiting.id DESC), array_agg(waiting.message_id ORDER BY waiting.id DESC)
        INTO changes, ids
        FROM (
            SELECT o.id, o.message_id FROM recollect.outbox o
            WHERE o.tenant_id = p_tenant AND o.app_id = p_apps[1] AND o.kind = p_kind AND o.target = v_target
                AND o.dead_order IS NULL
            ORDER BY o.id DESC LIMIT p_limit + p_counted
        ) AS waiting;
    END IF;
    more := GREATEST(cardinality(ids) - p_limit, 0);
    changes := COALESCE(changes[1:p_limit], '{}');
    ids := COALESCE(ids[1:p_limit], '{}');
END;
$$;
