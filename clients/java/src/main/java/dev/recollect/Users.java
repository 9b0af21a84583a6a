package dev.recollect;

import dev.recollect.v1.UserRef;

/** Users as callers name them. */
final class Users {
    private Users() {}

    /** The user of a request; empty for {@link Recollect#NO_USER}. */
    static String id(String user) {
        if (Recollect.NO_USER.equals(user)) {
            return "";
        }
        if (user == null || user.isEmpty()) {
            throw RecollectException.invalid(
                    "user", "is empty or missing: pass the id of the user, or Recollect.NO_USER for what belongs to no user");
        }
        return user;
    }

    /** The user of an app. */
    static UserRef ref(String app, String user) {
        return UserRef.newBuilder().setAppId(app).setUserId(id(user)).build();
    }
}
