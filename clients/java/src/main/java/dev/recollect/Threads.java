package dev.recollect;

import dev.recollect.v1.AppRef;
import dev.recollect.v1.ListThreadsRequest;
import dev.recollect.v1.ListThreadsResponse;
import dev.recollect.v1.Target;
import dev.recollect.v1.Thread;
import dev.recollect.v1.ThreadRef;
import dev.recollect.v1.ThreadServiceGrpc;
import java.util.function.Consumer;

/** The threads of the tenant. Lists have the newest first and are read in pages as they are needed. */
public final class Threads {
    private final Calls calls;

    Threads(Calls calls) {
        this.calls = calls;
    }

    /** The threads of an app. */
    public Pages<Thread> list(String app) {
        var target = Target.newBuilder().setApp(AppRef.newBuilder().setAppId(app));
        return list(request -> request.setTarget(target));
    }

    /** The threads of a user of an app; with {@link Recollect#NO_USER} those without one. */
    public Pages<Thread> list(String app, String user) {
        var target = Target.newBuilder().setUser(Users.ref(app, user));
        return list(request -> request.setTarget(target));
    }

    /** The threads that the request selects. */
    public Pages<Thread> list(Consumer<ListThreadsRequest.Builder> request) {
        return new Pages<>(token -> {
            var builder = ListThreadsRequest.newBuilder();
            request.accept(builder);
            return Calls.await(calls.start(
                    ThreadServiceGrpc.getListThreadsMethod(), builder.setPageToken(token).build()));
        }, ListThreadsResponse::getThreadsList, ListThreadsResponse::getNextPageToken);
    }

    /** Deletes a thread with everything in it. False if it does not exist. */
    public boolean delete(String threadId) {
        return new Session(calls, ThreadRef.newBuilder().setThreadId(threadId).build()).delete();
    }
}
