-- After the clock was set back: shifts the times until which rows wait in queues by as much.
-- Workers call it every second, and again at once while rows are left. It changes about p_limit
-- rows of each queue, waits for no lock, and leaves locked rows to the next call. Rows that were
-- written before the setback was noticed have times of the former clock.
CREATE OR REPLACE FUNCTION recollect.follow_clock(
    p_limit bigint,
    -- By how many seconds the clock was set back; 0: it was not, or all follow it by now.
    OUT seconds double precision,
    -- How many rows were changed, and whether some are left.
    OUT changed bigint, OUT is_left boolean
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_now bigint;
    v_latest bigint;
    v_lag bigint;
    v_since bigint;
    v_back interval;
    v_queue record;
    v_count bigint;
    v_exists boolean;
BEGIN
    seconds := 0;
    changed := 0;
    is_left := false;
    IF NOT pg_try_advisory_xact_lock(hashtext('recollect.follow_clock')) THEN
        RETURN;
    END IF;
    SELECT s.last_value INTO v_latest FROM recollect.queue_times s;
    SELECT s.last_value INTO v_lag FROM recollect.queue_lag s;
    v_now := (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
    IF v_now > v_latest - 500000 THEN
        PERFORM setval('recollect.queue_times', GREATEST(v_now, v_latest));
    ELSIF v_lag = 0 THEN
        v_lag := v_latest - v_now;
        PERFORM setval('recollect.queue_times', v_now), setval('recollect.queue_lag', v_lag),
            setval('recollect.queue_lag_since', pg_current_xact_id()::text::bigint);
    END IF;
    -- Where it is set back once more, that is noticed when all follow the first time.
    IF v_lag = 0 THEN
        RETURN;
    END IF;
    SELECT s.last_value INTO v_since FROM recollect.queue_lag_since s;
    v_back := make_interval(secs => v_lag / 1000000.0);
    FOR v_queue IN
        SELECT q.name, q.waits, q.change
        FROM (VALUES
            ('outbox', 'x.available_at > $1', 'available_at = x.available_at - $2'),
            ('distill_jobs', 'x.available_at > $1', 'available_at = x.available_at - $2'),
            ('erasures', 'x.available_at > $1', 'available_at = x.available_at - $2'),
            ('object_deletions', 'x.available_at > $1', 'available_at = x.available_at - $2'),
            ('node_memories', '(x.waiting_since > $1 OR x.retry_at > $1)',
                'waiting_since = x.waiting_since - $2, retry_at = x.retry_at - $2'),
            ('index_collections', 'x.leased_until > $1', 'leased_until = x.leased_until - $2')
        ) AS q (name, waits, change)
    LOOP
        EXECUTE format(
            'UPDATE recollect.%1$I x SET %3$s
             WHERE x.ctid = ANY (ARRAY(
                SELECT x.ctid FROM recollect.%1$I x
                WHERE %2$s AND age(x.xmin) > age($3)
                LIMIT $4
                FOR UPDATE SKIP LOCKED))',
            v_queue.name, v_queue.waits, v_queue.change)
        USING clock_timestamp(), v_back, v_since::text::xid8::xid, p_limit;
        GET DIAGNOSTICS v_count = ROW_COUNT;
        changed := changed + v_count;
        EXECUTE format(
            'SELECT EXISTS (SELECT FROM recollect.%1$I x WHERE %2$s AND age(x.xmin) > age($3))',
            v_queue.name, v_queue.waits)
        INTO v_exists
        USING clock_timestamp(), v_back, v_since::text::xid8::xid;
        is_left := is_left OR v_exists;
    END LOOP;
    IF NOT is_left THEN
        PERFORM setval('recollect.queue_lag', 0);
    END IF;
    seconds := v_lag / 1000000.0;
END;
$$;
