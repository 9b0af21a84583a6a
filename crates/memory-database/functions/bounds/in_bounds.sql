-- Whether the transaction's caller reaches the data of a user of an app. An empty user is data that belongs to no user;
-- a null one is that of all users, and a null app is all apps.
CREATE OR REPLACE FUNCTION recollect.in_bounds(p_app text, p_user text)
RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN recollect.allowed('app', p_app) AND recollect.allowed('user', p_user);
END;
$$;
