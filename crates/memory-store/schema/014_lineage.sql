-- The memories that an extracted memory was built on: it may contain their words, so it is
-- erased with the first of them.
CREATE TABLE recollect.memory_ancestors (
    tenant_id text NOT NULL,
    memory_id uuid NOT NULL,
    ancestor_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, memory_id, ancestor_id)
);

CREATE INDEX memory_ancestors_by_ancestor ON recollect.memory_ancestors (tenant_id, ancestor_id);

-- Messages to extract memories from once more, because a memory made of them was erased with
-- one that it was built on.
CREATE TABLE recollect.extract_again (
    tenant_id text NOT NULL,
    thread_id uuid NOT NULL,
    message_id uuid NOT NULL,
    -- Whether the thread was queued for it.
    queued boolean NOT NULL DEFAULT false,
    PRIMARY KEY (tenant_id, thread_id, message_id)
);

CREATE INDEX extract_again_unqueued ON recollect.extract_again (tenant_id, thread_id) WHERE NOT queued;

GRANT SELECT, INSERT, DELETE ON recollect.memory_ancestors TO recollect_service;
GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.extract_again TO recollect_service;

CREATE POLICY worker ON recollect.extract_again FOR SELECT TO recollect_worker USING (true);
GRANT SELECT (tenant_id, thread_id, queued) ON recollect.extract_again TO recollect_worker;
