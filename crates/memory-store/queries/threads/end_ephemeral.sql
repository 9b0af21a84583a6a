-- Ends all ephemeral threads, of all tenants; they are erased as expired ones.
UPDATE recollect.threads
SET expires_at = clock_timestamp()
WHERE idle_ttl IS NOT NULL AND expires_at > clock_timestamp()
