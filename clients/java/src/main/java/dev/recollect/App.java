package dev.recollect;

import dev.recollect.v1.AppPolicy;
import dev.recollect.v1.DeleteAppPolicyRequest;
import dev.recollect.v1.GetAppPolicyRequest;
import dev.recollect.v1.MemoryPolicy;
import dev.recollect.v1.PolicyServiceGrpc;
import dev.recollect.v1.UpdateAppPolicyRequest;
import java.util.function.Consumer;

/** An app: a bot, flow or workflow. */
public final class App {
    private final Calls calls;
    private final String id;

    App(Calls calls, String id) {
        this.calls = calls;
        this.id = id;
    }

    /** The app's policy: the fields that it sets, with the etag. */
    public AppPolicy policy() {
        var request = GetAppPolicyRequest.newBuilder().setAppId(id).build();
        return Calls.await(calls.start(PolicyServiceGrpc.getGetAppPolicyMethod(), request))
                .getAppPolicy();
    }

    /**
     * Changes fields of the app's policy, such as its own kinds of memories: those that are set
     * here, at least one. The others stay. It applies from the next request on.
     *
     * @return the whole policy
     */
    public AppPolicy setPolicy(MemoryPolicy policy) {
        return setPolicy(policy, request -> {});
    }

    /**
     * As {@link #setPolicy(MemoryPolicy)}, with further fields of the request: a precondition, and
     * a mask, which names all fields to change and clears those that are not set:
     * {@code request -> request.getUpdateMaskBuilder().addPaths("policy.never_keep")}.
     */
    public AppPolicy setPolicy(MemoryPolicy policy, Consumer<UpdateAppPolicyRequest.Builder> request) {
        var changed = AppPolicy.newBuilder().setAppId(id).setPolicy(policy);
        var builder = UpdateAppPolicyRequest.newBuilder().setAppPolicy(changed);
        request.accept(builder);
        return Calls.await(calls.start(PolicyServiceGrpc.getUpdateAppPolicyMethod(), builder.build()))
                .getAppPolicy();
    }

    /** Deletes the app's policy, so that the defaults apply. False: it had none. */
    public boolean deletePolicy() {
        var request = DeleteAppPolicyRequest.newBuilder().setAppId(id).build();
        return Calls.await(calls.start(PolicyServiceGrpc.getDeleteAppPolicyMethod(), request))
                .getDeleted();
    }
}
