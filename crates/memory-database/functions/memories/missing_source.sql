-- The first source of memories that is not a readable message of their user, that is, of a thread of
-- this user or said by this user: its item and its place among the sources, from 0; null where all
-- are. p_items is a list of what put_memory takes. p_new are messages that the caller is about to
-- append. The caller has called lock_sources, so that the answer stays true.
CREATE OR REPLACE FUNCTION recollect.missing_source(
    p_tenant text, p_app text, p_user text, p_items jsonb, p_new uuid[],
    OUT item integer, OUT source integer
)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    SELECT i.place - 1, s.place - 1 INTO item, source
    FROM jsonb_array_elements(p_items) WITH ORDINALITY AS i (value, place)
    CROSS JOIN LATERAL jsonb_array_elements_text(i.value -> 'sources') WITH ORDINALITY AS s (id, place)
    WHERE NOT s.id::uuid = ANY (p_new)
        AND NOT EXISTS (
            SELECT FROM recollect.messages m
            JOIN recollect.threads t ON t.tenant_id = p_tenant AND t.thread_id = m.thread_id
            WHERE m.tenant_id = p_tenant AND m.message_id = s.id::uuid AND m.deleted_at IS NULL
                AND t.app_id = p_app AND (t.user_id = p_user OR p_user <> '' AND m.said_by = p_user)
                AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp()))
    ORDER BY 1, 2
    LIMIT 1;
END;
$$;
