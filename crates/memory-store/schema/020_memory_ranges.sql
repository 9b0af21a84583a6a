-- What the summaries among a thread's memories were made of (the strategy SUMMARY): a row for
-- each extraction. A summary covers a path from its root on: it is the text of the summary
-- that it continues and of the messages of its range, those on the path to (branch, to_depth)
-- with after_depth < depth ≤ to_depth. On a path the summary of the range that ends deepest
-- on it holds. The others end, with memories.left_path: they may hold again.
CREATE TABLE recollect.memory_ranges (
    tenant_id text NOT NULL,
    thread_id uuid NOT NULL,
    -- The order of creation.
    number bigint GENERATED ALWAYS AS IDENTITY,
    -- The summary; it may be erased since. Null: nothing in the range was worth a summary, so
    -- the one before it still holds.
    memory_id uuid,
    -- The end: the place of a message, or 0 and 0 before the first message.
    branch integer NOT NULL,
    after_depth integer NOT NULL,
    to_depth integer NOT NULL,
    -- The ranges whose summaries it continues.
    based_on bigint[] NOT NULL,
    -- Of a summary that was imported, or made before this table: its range is taken from its
    -- sources, and it may contain any message up to this seq. Null: only those of its range and
    -- of what it continues.
    until_seq bigint,
    PRIMARY KEY (tenant_id, thread_id, number)
);

CREATE INDEX memory_ranges_by_memory ON recollect.memory_ranges (tenant_id, memory_id) WHERE memory_id IS NOT NULL;

GRANT SELECT, INSERT, DELETE ON recollect.memory_ranges TO recollect_service;
