-- The day as text, as the database counts days.
SELECT u.day::text AS day, u.kind, u.model, sum(u.call_count)::bigint AS call_count, sum(u.failed_count)::bigint AS failed_count,
    sum(u.input_tokens)::bigint AS input_tokens, sum(u.output_tokens)::bigint AS output_tokens,
    u.day = recollect.usage_day() AS is_today
FROM (
    SELECT day, kind, model, call_count, failed_count, input_tokens, output_tokens
    FROM recollect.model_usage
    WHERE tenant_id = $1 AND day > recollect.usage_day() - $2::integer
    UNION ALL
    -- Expired reservations count as spent; the next request records them.
    SELECT day, 'language', model, 1, 1, input_tokens, output_tokens
    FROM recollect.model_reservations
    WHERE tenant_id = $1 AND day > recollect.usage_day() - $2::integer AND expires_at <= clock_timestamp()
) AS u
GROUP BY u.day, u.kind, u.model
ORDER BY u.day DESC, u.kind DESC, u.model
LIMIT $3
