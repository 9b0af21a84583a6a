-- Compares the messages of an append with the stored ones that have the same external ids, under
-- the thread's lock.
CREATE OR REPLACE FUNCTION recollect.replay_messages(
    p_tenant text, p_thread uuid, p_messages recollect.new_message[], p_parts json[],
    -- new: no external id is known. replayed: each message is stored with this content.
    -- external_exists (fault_index: the message, from 0): neither.
    OUT status text, OUT fault_index integer,
    -- On replayed.
    OUT message_ids uuid[], OUT seqs bigint[], OUT branches integer[], OUT tokens integer[],
    -- The newest change of these messages that waits for the index; 0: none waits.
    OUT revision bigint
)
LANGUAGE plpgsql STABLE
-- A plan for these arrays alone takes longer to make than to execute.
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    v_known bigint;
    v_same bigint;
    -- Metadata of messages was replaced since: the first metadata is not known any more.
    v_updated boolean := EXISTS (
        SELECT FROM recollect.threads t
        WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread AND t.update_count > 0);
BEGIN
    SELECT count(*), count(*) FILTER (WHERE k.same), COALESCE(min(k.place) FILTER (WHERE NOT k.same), min(k.place)) - 1,
        array_agg(k.message_id ORDER BY k.place), array_agg(k.seq ORDER BY k.place),
        array_agg(k.branch ORDER BY k.place), array_agg(k.tokens ORDER BY k.place)
    INTO v_known, v_same, fault_index, message_ids, seqs, branches, tokens
    FROM (
        SELECT u.ordinality AS place, m.message_id, m.seq, m.branch, m.tokens,
            COALESCE(m.deleted_at IS NULL AND m.parts::text = u.parts::text
            -- All other fields that the caller chose: laid over the stored ones they change nothing.
            AND to_jsonb(recollect.readable(m)) || (
                (to_jsonb(u) || jsonb_build_object('said_by', COALESCE(u.said_by, ''))) - ARRAY[
                    'chosen', 'parent', 'parts', 'tokens', 'ordinality',
                    CASE WHEN NOT u.chosen THEN 'message_id' END,
                    CASE WHEN v_updated THEN 'metadata' END,
                    CASE WHEN u.said_at IS NULL THEN 'said_at' END]) = to_jsonb(recollect.readable(m))
            AND (u.parent IS NULL OR u.parent = '' AND m.parent_id IS NULL OR m.parent_id = recollect.uuid_of(u.parent)
                OR EXISTS (
                    SELECT FROM recollect.messages p
                    WHERE p.tenant_id = p_tenant AND p.message_id = m.parent_id
                        AND p.external_digest = recollect.external_digest(p_thread, u.parent))), false) AS same
        FROM unnest(p_parts, p_messages) WITH ORDINALITY AS u (parts)
        -- The limit keeps Postgres from reading all messages for a join.
        CROSS JOIN LATERAL (
            SELECT f.*
            FROM recollect.messages f
            WHERE f.tenant_id = p_tenant AND f.external_digest = recollect.external_digest(p_thread, u.external_id)
            LIMIT 1
        ) AS m
    ) AS k;
    IF v_known = 0 THEN
        status := 'new';
    ELSIF v_same < cardinality(p_messages) THEN
        status := 'external_exists';
    ELSE
        status := 'replayed';
        SELECT COALESCE(max(o.id), 0) INTO revision
        FROM recollect.outbox o
        WHERE o.tenant_id = p_tenant AND o.thread_id = p_thread AND o.kind = 'message'
            AND o.message_id = ANY (message_ids);
    END IF;
END;
$$;
