-- What each role may do. recollect_service is further limited by row-level security to
-- the tenant that its transaction names (functions/access.sql); the policies of the other
-- roles are here, beside the columns that they may read.
GRANT USAGE ON SCHEMA recollect TO recollect_service, recollect_worker, recollect_search, recollect_auth;

-- Every server compares the schema with the one that it was built for.
GRANT SELECT ON recollect.schema_files, recollect.schema_releases TO recollect_service, recollect_worker;

GRANT SELECT, INSERT, UPDATE, DELETE
    ON recollect.threads, recollect.branches, recollect.messages, recollect.outbox, recollect.requests,
        recollect.distillates, recollect.distill_jobs, recollect.working_memories, recollect.working_records,
        recollect.memories, recollect.memory_sources,
        recollect.node_memories, recollect.node_turns, recollect.node_messages, recollect.node_requests,
        recollect.node_copies, recollect.object_deletions, recollect.plans,
        recollect.app_policies, recollect.files, recollect.secrets,
        recollect.model_usage, recollect.model_reservations
    TO recollect_service;
-- Attempts, events and records of changes stay as they were written.
GRANT SELECT, INSERT, DELETE ON recollect.attempts, recollect.agent_events TO recollect_service;
GRANT SELECT, INSERT ON recollect.transactions TO recollect_service;
GRANT USAGE ON SEQUENCE recollect.transaction_numbers TO recollect_service;
-- A key is created and revoked, never changed, and the service cannot read its digest.
GRANT SELECT (tenant_id, name, ordinal, scopes, created_at, expires_at), INSERT, DELETE
    ON recollect.api_keys TO recollect_service;

-- Workers serve all tenants. They see what waits, and no content.
CREATE POLICY worker ON recollect.outbox TO recollect_worker USING (true);
GRANT SELECT, UPDATE, DELETE ON recollect.outbox TO recollect_worker;
GRANT USAGE ON SEQUENCE recollect.dead_letters TO recollect_worker;

CREATE POLICY worker ON recollect.distill_jobs TO recollect_worker USING (true);
GRANT SELECT, UPDATE ON recollect.distill_jobs TO recollect_worker;

CREATE POLICY worker ON recollect.object_deletions TO recollect_worker USING (true);
GRANT SELECT, UPDATE ON recollect.object_deletions TO recollect_worker;

CREATE POLICY worker ON recollect.requests TO recollect_worker USING (true);
GRANT SELECT (tenant_id, request_id, created_at), DELETE ON recollect.requests TO recollect_worker;

CREATE POLICY worker ON recollect.node_requests TO recollect_worker USING (true);
GRANT SELECT (tenant_id, request_id, created_at), DELETE ON recollect.node_requests TO recollect_worker;

CREATE POLICY worker ON recollect.transactions TO recollect_worker USING (true);
GRANT SELECT (tenant_id, id, created_at), DELETE ON recollect.transactions TO recollect_worker;

CREATE POLICY worker ON recollect.threads FOR SELECT TO recollect_worker USING (true);
GRANT SELECT (tenant_id, thread_id, expires_at, idle_ttl, content_bytes) ON recollect.threads TO recollect_worker;

-- A server that starts alone ends all ephemeral threads.
CREATE POLICY end_ephemeral ON recollect.threads FOR UPDATE TO recollect_worker USING (idle_ttl IS NOT NULL);
GRANT UPDATE (expires_at) ON recollect.threads TO recollect_worker;

CREATE POLICY worker ON recollect.working_memories FOR SELECT TO recollect_worker USING (true);
GRANT SELECT (tenant_id, thread_id, expires_at) ON recollect.working_memories TO recollect_worker;

CREATE POLICY worker ON recollect.node_memories FOR SELECT TO recollect_worker USING (true);
GRANT SELECT (tenant_id, thread_id, node_id, waiting_count, waiting_since, expires_at, failures, retry_at)
    ON recollect.node_memories TO recollect_worker;

CREATE POLICY worker ON recollect.memories FOR SELECT TO recollect_worker USING (true);
GRANT SELECT (tenant_id, app_id) ON recollect.memories TO recollect_worker;

-- The definer of the functions that match words.
CREATE POLICY search ON recollect.messages FOR SELECT TO recollect_search USING (true);
GRANT SELECT (tenant_id, thread_id, seq, message_id, role, name, metadata, said_at, words)
    ON recollect.messages TO recollect_search;

CREATE POLICY search ON recollect.memories FOR SELECT TO recollect_search USING (true);
GRANT SELECT (tenant_id, memory_id, ordinal, words, type, topics, entities, metadata, thread_id, origin, valid_until, created_at)
    ON recollect.memories TO recollect_search;

-- The definer of the function that finds an API key by its digest.
CREATE POLICY auth ON recollect.api_keys FOR SELECT TO recollect_auth USING (true);
GRANT SELECT (tenant_id, name, digest, scopes, expires_at) ON recollect.api_keys TO recollect_auth;
