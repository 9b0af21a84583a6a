-- After the clock was set back: what waits in a queue until a time waits no longer for that.
-- Workers call it every second. Returns by how many seconds the clock was set back; 0: it
-- was not.
CREATE OR REPLACE FUNCTION recollect.follow_clock()
RETURNS double precision
LANGUAGE plpgsql AS $$
DECLARE
    v_now bigint := (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
    v_latest bigint;
    v_back interval;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtext('recollect.follow_clock')) THEN
        RETURN 0;
    END IF;
    SELECT s.last_value INTO v_latest FROM recollect.queue_times s;
    IF v_now > v_latest - 500000 THEN
        PERFORM setval('recollect.queue_times', GREATEST(v_now, v_latest));
        RETURN 0;
    END IF;
    v_back := make_interval(secs => (v_latest - v_now) / 1000000.0);
    UPDATE recollect.outbox o SET available_at = o.available_at - v_back WHERE o.available_at > clock_timestamp();
    UPDATE recollect.distill_jobs j SET available_at = j.available_at - v_back WHERE j.available_at > clock_timestamp();
    UPDATE recollect.erasures e SET available_at = e.available_at - v_back WHERE e.available_at > clock_timestamp();
    UPDATE recollect.object_deletions d SET available_at = d.available_at - v_back
    WHERE d.available_at > clock_timestamp();
    UPDATE recollect.node_memories n SET waiting_since = n.waiting_since - v_back, retry_at = n.retry_at - v_back
    WHERE n.waiting_since > clock_timestamp() OR n.retry_at > clock_timestamp();
    UPDATE recollect.index_collections c SET leased_until = c.leased_until - v_back
    WHERE c.leased_until > clock_timestamp();
    PERFORM setval('recollect.queue_times', v_now);
    RETURN extract(epoch FROM v_back);
END;
$$;
