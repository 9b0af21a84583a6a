-- Workers claim changes of each tenant in turn, and those of imports and rebuilds after all
-- others.
ALTER TABLE recollect.outbox
    -- Whether the change came from an import, or was queued to index again what is stored.
    ADD COLUMN bulk boolean NOT NULL DEFAULT false;
CREATE INDEX outbox_by_turn ON recollect.outbox (bulk, tenant_id, id) WHERE dead_order IS NULL;

ALTER TABLE recollect.distill_jobs
    -- Whether only an import requested it.
    ADD COLUMN bulk boolean NOT NULL DEFAULT false;
CREATE INDEX distill_jobs_by_turn ON recollect.distill_jobs (bulk, tenant_id, available_at);
