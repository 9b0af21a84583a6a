-- The day as text, as the database counts days.
SELECT u.day::text, u.model, sum(u.call_count)::bigint, sum(u.failed_count)::bigint,
    sum(u.input_tokens)::bigint, sum(u.output_tokens)::bigint, u.day = recollect.usage_day()
FROM (
    SELECT day, model, call_count, failed_count, input_tokens, output_tokens
    FROM recollect.model_usage
    WHERE tenant_id = $1 AND day > recollect.usage_day() - $2::integer
    UNION ALL
    -- Expired reservations count as spent; the next request records them.
    SELECT day, model, 1, 1, input_tokens, output_tokens
    FROM recollect.model_reservations
    WHERE tenant_id = $1 AND day > recollect.usage_day() - $2::integer AND expires_at <= clock_timestamp()
) AS u
GROUP BY u.day, u.model
ORDER BY u.day DESC, u.model
LIMIT $3
