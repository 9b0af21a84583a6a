-- The time, in microseconds since 1970, that a change made now gets its id from. It is later than
-- the clock as long as the clock is behind a time that was given before: who watches a thread
-- looks for changes with higher ids only.
--
-- A time is the clock plus the lead. The lead grows by as much as the clock is set back, and half
-- a second; it shrinks by a tenth of the time that passes, by the time without any change, and by
-- as much as the clock is set forward. The clock is read after what it is compared with, because
-- a process that waits for a processor in between would take its own delay for a clock that was
-- set back.
CREATE FUNCTION recollect.change_time()
RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_lead bigint;
    v_latest bigint;
    v_clock bigint;
    v_time bigint;
BEGIN
    SELECT s.last_value INTO v_latest FROM recollect.change_times s;
    SELECT s.last_value INTO v_lead FROM recollect.change_lead s;
    v_clock := (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
    v_time := v_clock + v_lead;
    -- Written twice a second: no time that was given is later than half a second after it.
    IF v_time BETWEEN v_latest - 200000 AND v_latest + 500000 THEN
        RETURN v_time;
    END IF;
    v_time := GREATEST(v_clock, v_latest + CASE WHEN v_time > v_latest THEN 450000 ELSE 500000 END);
    -- Others may have been faster.
    SELECT GREATEST(v_time, s.last_value) INTO v_time FROM recollect.change_times s;
    PERFORM setval('recollect.change_lead',
            GREATEST(v_time - (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, 0)),
        setval('recollect.change_times', v_time);
    RETURN v_time;
END;
$$;

ALTER TABLE recollect.transactions ALTER COLUMN id SET DEFAULT
    recollect.change_time() * 256 + nextval('recollect.transaction_numbers') % 256;

DROP FUNCTION recollect.change_time(timestamptz);
