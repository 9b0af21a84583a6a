-- The day as text, so that no clock but the database's is asked for it.
SELECT u.day::text, u.model, u.call_count, u.failed_count, u.input_tokens, u.output_tokens,
    u.day = recollect.ledger_day()
FROM recollect.model_usage u
WHERE u.tenant_id = $1 AND u.day > recollect.ledger_day() - $2::integer
ORDER BY u.day DESC, u.model
LIMIT $3
