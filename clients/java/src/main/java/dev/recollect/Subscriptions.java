package dev.recollect;

import dev.recollect.v1.CreateSubscriptionRequest;
import dev.recollect.v1.CreateSubscriptionResponse;
import dev.recollect.v1.DeleteSubscriptionRequest;
import dev.recollect.v1.GetSubscriptionRequest;
import dev.recollect.v1.ListSubscriptionsRequest;
import dev.recollect.v1.RotateSubscriptionSecretRequest;
import dev.recollect.v1.Subscription;
import dev.recollect.v1.SubscriptionServiceGrpc;
import dev.recollect.v1.UpdateSubscriptionRequest;
import java.util.List;
import java.util.function.Consumer;

/**
 * Subscriptions to changes of the tenant, delivered by webhooks or streams. Changing them needs a
 * key with the scope {@code admin}, and so do the events of one with a URL.
 */
public final class Subscriptions {
    private final Calls calls;
    private final Reliable reliable;

    Subscriptions(Calls calls, Reliable reliable) {
        this.calls = calls;
        this.reliable = reliable;
    }

    /**
     * Creates a subscription to all changes that begin from now on.
     *
     * @param name 1 to 64 characters of a-z, A-Z, 0-9, {@code .}, {@code _} and {@code -}
     */
    public CreateSubscriptionResponse create(String name) {
        return create(name, request -> {});
    }

    /**
     * As {@link #create(String)}, with further fields of the request: an app, a user or actions
     * that select changes, and the URL that webhooks are sent to. With a URL the response has the
     * {@code secret} that {@link Webhooks} takes; it cannot be read again.
     */
    public CreateSubscriptionResponse create(String name, Consumer<CreateSubscriptionRequest.Builder> request) {
        var builder = CreateSubscriptionRequest.newBuilder().setName(name);
        request.accept(builder);
        return Calls.await(calls.start(SubscriptionServiceGrpc.getCreateSubscriptionMethod(), builder.build()));
    }

    /** A subscription with what waits in it, and what was lost. */
    public Subscription get(String name) {
        var request = GetSubscriptionRequest.newBuilder().setName(name).build();
        return Calls.await(calls.start(SubscriptionServiceGrpc.getGetSubscriptionMethod(), request))
                .getSubscription();
    }

    /** All subscriptions, by name, with what waits in them. */
    public List<Subscription> list() {
        var request = ListSubscriptionsRequest.getDefaultInstance();
        return Calls.await(calls.start(SubscriptionServiceGrpc.getListSubscriptionsMethod(), request))
                .getSubscriptionsList();
    }

    /**
     * Changes the named fields of the subscription with the name of this one: {@code enabled}, {@code url}
     * and {@code actions}. A webhook that waits after a failure is sent again at once.
     */
    public Subscription update(Subscription subscription, String... fields) {
        var request = UpdateSubscriptionRequest.newBuilder().setSubscription(subscription);
        request.getUpdateMaskBuilder().addAllPaths(List.of(fields));
        return Calls.await(calls.start(SubscriptionServiceGrpc.getUpdateSubscriptionMethod(), request.build()))
                .getSubscription();
    }

    /**
     * Replaces the secret of a subscription with a URL, and returns the new one. For 24 hours webhooks
     * have the signature of the former one too.
     */
    public String rotateSecret(String name) {
        var request = RotateSubscriptionSecretRequest.newBuilder().setName(name).build();
        return Calls.await(calls.start(SubscriptionServiceGrpc.getRotateSubscriptionSecretMethod(), request))
                .getSecret();
    }

    /** Deletes a subscription with the events that wait in it. False: there was none. */
    public boolean delete(String name) {
        var request = DeleteSubscriptionRequest.newBuilder().setName(name).build();
        return Calls.await(calls.start(SubscriptionServiceGrpc.getDeleteSubscriptionMethod(), request))
                .getDeleted();
    }

    /** The events of a subscription, from the first that was not acknowledged on. */
    public SubscriptionEvents events(String name) {
        return new SubscriptionEvents(calls, reliable, name);
    }
}
