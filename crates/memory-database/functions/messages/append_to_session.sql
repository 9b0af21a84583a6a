-- Appends messages to the thread of a session, as recollect.append does, and creates the
-- thread if it does not exist: both or neither, in one call. A new thread lives as long
-- as the policy of its app says.
CREATE OR REPLACE FUNCTION recollect.append_to_session(
    -- The id and the search terms of the thread if this call creates it.
    p_tenant text, p_actor text, p_thread uuid, p_scope text[],
    p_app text, p_user text, p_key text, p_digest bytea,
    p_messages json, p_parts json[], p_words text[], p_request uuid, p_hash bytea, p_check_head boolean, p_expected_head text,
    p_max_ephemeral_bytes bigint,
    -- As recollect.append answers.
    OUT status text, OUT fault_index integer, OUT fault_id uuid,
    OUT message_ids uuid[], OUT first_seq bigint, OUT branches integer[], OUT tokens integer[],
    OUT revision bigint, OUT seqs bigint[],
    OUT thread_id uuid, OUT created boolean
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_thread record;
    v_appended record;
BEGIN
    -- The thread of a rejected append is not kept.
    BEGIN
        SELECT o.created, (o.thread).thread_id INTO v_thread
        FROM recollect.open_thread(
            p_tenant, p_actor, p_thread, p_app, p_user, p_key, p_digest, '', '{}', NULL, p_scope, '{}', NULL, NULL) o;
        SELECT a.* INTO v_appended
        FROM recollect.append(
            p_tenant, p_actor, v_thread.thread_id, p_messages, p_parts, p_words, p_request, p_hash, p_check_head, p_expected_head, false,
            p_max_ephemeral_bytes) a;
        IF v_thread.created AND v_appended.status <> 'ok' THEN
            RAISE SQLSTATE 'RC001';
        END IF;
    EXCEPTION WHEN SQLSTATE 'RC001' THEN
        v_thread.created := false;
    END;
    status := v_appended.status;
    fault_index := v_appended.fault_index;
    fault_id := v_appended.fault_id;
    message_ids := v_appended.message_ids;
    first_seq := v_appended.first_seq;
    branches := v_appended.branches;
    tokens := v_appended.tokens;
    revision := v_appended.revision;
    seqs := v_appended.seqs;
    thread_id := v_thread.thread_id;
    created := v_thread.created;
END;
$$;
