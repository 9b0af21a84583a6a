-- Queues a thread so that a worker extracts facts from the messages up to its head now, or
-- where the last run failed after its pause.
CREATE OR REPLACE FUNCTION recollect.ask_extraction(p_tenant text, p_thread uuid)
RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_head bigint;
BEGIN
    SELECT t.head_seq INTO v_head FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread;
    PERFORM recollect.enqueue_distill(p_tenant, p_thread);
    UPDATE recollect.distill_jobs j
    SET extract_to = GREATEST(j.extract_to, v_head)
    WHERE j.tenant_id = p_tenant AND j.thread_id = p_thread;
END;
$$;
