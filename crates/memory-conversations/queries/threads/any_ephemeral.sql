-- Whether any tenant has an ephemeral thread that has not ended.
SELECT EXISTS (SELECT FROM recollect.threads t WHERE t.idle_ttl IS NOT NULL AND t.expires_at > clock_timestamp())
