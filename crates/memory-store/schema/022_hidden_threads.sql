-- Threads that are hidden while they are erased or cleared: their expiry is '-infinity' from here
-- on, because a clock that is set back would show those that expired at a time.
ALTER TABLE recollect.threads NO FORCE ROW LEVEL SECURITY;
ALTER TABLE recollect.erasures NO FORCE ROW LEVEL SECURITY;

UPDATE recollect.threads t
SET expires_at = '-infinity'
FROM recollect.erasures e
WHERE e.kind = 'thread' AND e.step IN ('rows', 'clear')
    AND t.tenant_id = e.tenant_id AND t.thread_id = e.erasure_id;

ALTER TABLE recollect.threads FORCE ROW LEVEL SECURITY;
ALTER TABLE recollect.erasures FORCE ROW LEVEL SECURITY;
