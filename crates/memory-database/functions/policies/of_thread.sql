-- The fields that the policy of a thread sets, or else the policy of its app, or else the server.
CREATE OR REPLACE FUNCTION recollect.policy_of_thread(
    p_tenant text, p_thread uuid,
    OUT ttl_seconds double precision, OUT rebuild_expired boolean, OUT extraction text
)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    SELECT f.* INTO ttl_seconds, rebuild_expired, extraction
    FROM recollect.threads t
    LEFT JOIN recollect.app_policies p ON p.tenant_id = p_tenant AND p.app_id = t.app_id
    CROSS JOIN LATERAL recollect.policy_fields(
        recollect.server_policy() || COALESCE(p.policy, '{}') || t.policy) AS f
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread;
END;
$$;
