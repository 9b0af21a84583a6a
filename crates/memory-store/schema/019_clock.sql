-- The clock of the database may be set back. All in microseconds since 1970, or of them.

-- The latest time that a change got its id from, about, and how much later that is than the
-- clock.
CREATE SEQUENCE recollect.change_times MINVALUE 0 START 0;
CREATE SEQUENCE recollect.change_lead MINVALUE 0 START 0;
GRANT SELECT, UPDATE ON SEQUENCE recollect.change_times, recollect.change_lead TO recollect_service;

-- The time, in microseconds since 1970, that a change made at p_now gets its id from. It is
-- later than the clock as long as the clock is behind a time that was given before: who
-- watches a thread looks for changes with higher ids only.
CREATE FUNCTION recollect.change_time(p_now timestamptz)
RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_now bigint := (extract(epoch FROM p_now) * 1000000)::bigint;
    v_lead bigint;
    v_latest bigint;
BEGIN
    SELECT s.last_value INTO v_lead FROM recollect.change_lead s;
    SELECT s.last_value INTO v_latest FROM recollect.change_times s;
    -- Written twice a second: no time that was given is later than half a second after it.
    IF v_now + v_lead BETWEEN v_latest - 200000 AND v_latest + 500000 THEN
        RETURN v_now + v_lead;
    END IF;
    v_now := GREATEST(v_now, v_latest + 500000);
    v_lead := v_now - (extract(epoch FROM p_now) * 1000000)::bigint;
    PERFORM setval('recollect.change_lead', v_lead), setval('recollect.change_times', v_now);
    RETURN v_now;
END;
$$;

ALTER TABLE recollect.transactions ALTER COLUMN id SET DEFAULT
    recollect.change_time(clock_timestamp()) * 256 + nextval('recollect.transaction_numbers') % 256;

-- The latest time that workers saw (functions/queues/follow_clock.sql).
CREATE SEQUENCE recollect.queue_times MINVALUE 0 START 0;
GRANT SELECT, UPDATE ON SEQUENCE recollect.queue_times TO recollect_worker;
GRANT UPDATE (waiting_since, retry_at) ON recollect.node_memories TO recollect_worker;
CREATE POLICY follow_clock ON recollect.node_memories FOR UPDATE TO recollect_worker USING (true);
