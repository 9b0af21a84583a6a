-- Searches read the newest waiting memories of an app as well as its messages: neither kind
-- may hold up the other.
DROP INDEX recollect.outbox_by_app;
CREATE INDEX outbox_by_app ON recollect.outbox (tenant_id, app_id, kind, target, id) WHERE app_id IS NOT NULL;

-- The search by word filters by them.
GRANT SELECT (event_time, valid_from) ON recollect.memories TO recollect_search;

-- The word that limits a search to an app, as src/words.rs makes it, which memories stored
-- before lack.
ALTER TABLE recollect.memories NO FORCE ROW LEVEL SECURITY;
UPDATE recollect.memories m
SET words = m.words || array_to_tsvector(ARRAY['~a' || encode(substr(sha256(
    int8send(octet_length(m.tenant_id)) || convert_to(m.tenant_id, 'UTF8')
    || int8send(octet_length(m.app_id)) || convert_to(m.app_id, 'UTF8')), 1, 16), 'hex')]);
ALTER TABLE recollect.memories FORCE ROW LEVEL SECURITY;
