-- The tables with rows of a thread, found by its id: all but those whose rows are found by app and
-- user, the record of changes, which is kept, and the events of subscriptions, one of which is its deletion.
CREATE OR REPLACE FUNCTION recollect.thread_tables()
RETURNS text[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN recollect.tables_with('thread_id', ARRAY['threads', 'messages', 'memories', 'transactions', 'subscription_events']);
END;
$$;
