-- Whether a search below a prefix shows a document: those in namespaces whose first label begins with
-- `recollect.` are Recollect's own, and shown only below such a label.
CREATE OR REPLACE FUNCTION recollect.document_is_shown(p_path text, p_prefix text)
RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT p_prefix <> '' OR p_path COLLATE "C" < 'recollect.' OR p_path COLLATE "C" >= 'recollect/'
$$;
