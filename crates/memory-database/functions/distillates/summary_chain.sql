-- A summary and the summaries that it follows, directly or not.
CREATE OR REPLACE FUNCTION recollect.summary_chain(p_tenant text, p_thread uuid, p_number bigint)
RETURNS SETOF recollect.distillates
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_summary recollect.distillates;
    v_next bigint := p_number;
BEGIN
    WHILE v_next IS NOT NULL LOOP
        SELECT d.* INTO v_summary
        FROM recollect.distillates d
        WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'summary' AND d.number = v_next;
        EXIT WHEN NOT FOUND;
        RETURN NEXT v_summary;
        -- Numbers decrease, so the loop ends even if rows are damaged.
        v_next := CASE WHEN v_summary.based_on < v_next THEN v_summary.based_on END;
    END LOOP;
END;
$$;
