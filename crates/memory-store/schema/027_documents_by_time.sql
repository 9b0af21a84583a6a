-- The index over time is for queries that say d.updated_at > '-infinity', which is true of all
-- documents. Before the table is analyzed, it would seem as good for a name as the primary key, and all
-- documents of an owner would be read for one.
DROP INDEX recollect.documents_by_time;
CREATE INDEX documents_by_time ON recollect.documents (tenant_id, owner, updated_at)
    WHERE updated_at > '-infinity';
