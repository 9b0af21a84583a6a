SELECT EXISTS (
    SELECT FROM recollect.app_policies p
    WHERE p.tenant_id = $1 AND (p.policy ? 'redaction' OR p.policy ? 'redacted_kinds')
) AS "any"
