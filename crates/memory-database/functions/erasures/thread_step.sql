-- Does the next step of erasing or clearing a thread; see erase_step. The caller has the locks of
-- both rows. Returns more or done.
CREATE OR REPLACE FUNCTION recollect.erase_thread_step(p_tenant text, p_thread uuid, p_limit bigint)
RETURNS text
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_erasure record;
    v_rows record;
    v_count bigint;
BEGIN
    SELECT e.step, e.erased_seq, e.counts, e.parent_id, e.kept_expiry INTO v_erasure FROM recollect.erasures e
    WHERE e.tenant_id = p_tenant AND e.erasure_id = p_thread;
    IF v_erasure.step = 'hide' THEN
        -- It has expired. Committed before anything is erased, so that its session key is free.
        PERFORM recollect.hide_thread(p_tenant, t.thread_id, NULL)
        FROM recollect.threads t
        WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread;
        IF FOUND THEN
            RETURN 'more';
        END IF;
    END IF;

    SELECT r.erased_seq, r.counts, r.done INTO v_rows
    FROM recollect.erase_thread_rows(p_tenant, p_thread, p_limit, v_erasure.erased_seq) r;
    IF v_rows.done AND v_erasure.step <> 'clear' THEN
        DELETE FROM recollect.requests r
        WHERE r.tenant_id = p_tenant AND r.ctid = ANY (ARRAY(
            SELECT x.ctid FROM recollect.requests x
            WHERE x.tenant_id = p_tenant AND x.thread_id = p_thread
            LIMIT p_limit));
        GET DIAGNOSTICS v_count = ROW_COUNT;
        v_rows.counts := recollect.add_count(v_rows.counts, 'requests', v_count);
        v_rows.done := v_count < p_limit;
        UPDATE recollect.memories m
        SET thread_id = NULL
        WHERE m.tenant_id = p_tenant AND m.ctid = ANY (ARRAY(
            SELECT x.ctid FROM recollect.memories x
            WHERE x.tenant_id = p_tenant AND x.thread_id = p_thread
            LIMIT p_limit));
        GET DIAGNOSTICS v_count = ROW_COUNT;
        v_rows.done := v_rows.done AND v_count < p_limit;
    END IF;
    IF NOT v_rows.done THEN
        UPDATE recollect.erasures
        SET erased_seq = v_rows.erased_seq, counts = recollect.add_counts(v_erasure.counts, v_rows.counts)
        WHERE tenant_id = p_tenant AND erasure_id = p_thread;
        RETURN 'more';
    END IF;
    IF v_erasure.step = 'clear' THEN
        UPDATE recollect.threads SET expires_at = v_erasure.kept_expiry WHERE tenant_id = p_tenant AND thread_id = p_thread;
        DELETE FROM recollect.erasures WHERE tenant_id = p_tenant AND erasure_id = p_thread;
        RETURN 'done';
    END IF;
    DELETE FROM recollect.threads WHERE tenant_id = p_tenant AND thread_id = p_thread;
    IF v_erasure.parent_id IS NULL THEN
        DELETE FROM recollect.erasures WHERE tenant_id = p_tenant AND erasure_id = p_thread;
    ELSE
        UPDATE recollect.erasures
        SET step = 'done', finished_at = clock_timestamp(),
            counts = recollect.add_count(recollect.add_counts(v_erasure.counts, v_rows.counts), 'threads', 1)
        WHERE tenant_id = p_tenant AND erasure_id = p_thread;
    END IF;
    RETURN 'done';
END;
$$;
