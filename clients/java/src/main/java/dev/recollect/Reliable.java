package dev.recollect;

import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ClientInterceptors.CheckedForwardingClientCall;
import io.grpc.ForwardingClientCallListener.SimpleForwardingClientCallListener;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.protobuf.ProtoMethodDescriptorSupplier;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/** Gives calls the API key, a deadline, a request id and retries. */
final class Reliable implements ClientInterceptor, AutoCloseable {
    /** The deadline of a call that has none, instead of the client's. */
    static final CallOptions.Key<Duration> TIMEOUT = CallOptions.Key.create("recollect-timeout");
    /** In the trailers of a failed call: the number of attempts. It is not from the server. */
    static final Metadata.Key<String> ATTEMPTS =
            Metadata.Key.of("recollect-client-attempts", Metadata.ASCII_STRING_MARSHALLER);

    /** In the trailers of a failed call: the server's address. It is not from the server. */
    static final Metadata.Key<String> TARGET =
            Metadata.Key.of("recollect-client-target", Metadata.ASCII_STRING_MARSHALLER);

    private static final Metadata.Key<String> AUTHORIZATION =
            Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);
    /** Fields that name a state. */
    private static final Set<String> PRECONDITIONS = Set.of("precondition", "expected_head");

    private final ManagedChannel connection;
    private final String target;
    private final Supplier<String> apiKey;
    private final Duration timeout;
    private final RetryPolicy retry;
    private final ScheduledExecutorService timer;
    private volatile boolean closed;

    Reliable(ManagedChannel connection, String target, Supplier<String> apiKey, Duration timeout, RetryPolicy retry) {
        this.connection = connection;
        this.target = target;
        this.apiKey = apiKey;
        this.timeout = timeout;
        this.retry = retry;
        timer = Executors.newSingleThreadScheduledExecutor(task -> {
            var thread = new Thread(task, "recollect-retries");
            thread.setDaemon(true);
            return thread;
        });
    }

    /** The server's address. */
    String target() {
        return target;
    }

    /** Lets later calls fail. */
    void refuse() {
        closed = true;
    }

    @Override
    public void close() {
        // Waiting attempts still run, and fail at once on the closed channel.
        timer.shutdown();
    }

    @Override
    public <Q, R> ClientCall<Q, R> interceptCall(MethodDescriptor<Q, R> method, CallOptions options, Channel next) {
        if (method.getType() != MethodDescriptor.MethodType.UNARY) {
            return stream(next.newCall(method, options));
        }
        var limit = options.getOption(TIMEOUT) == null ? timeout : options.getOption(TIMEOUT);
        if (options.getDeadline() == null && !limit.isZero()) {
            options = options.withDeadlineAfter(limit.toNanos(), TimeUnit.NANOSECONDS);
        }
        return new RepeatedCall<>(this, method, options, next);
    }

    /** A call with streams, which is not repeated. */
    private <Q, R> ClientCall<Q, R> stream(ClientCall<Q, R> call) {
        return new CheckedForwardingClientCall<>(call) {
            @Override
            protected void checkedStart(Listener<R> listener, Metadata headers) throws StatusException {
                authorize(headers);
                delegate().start(new SimpleForwardingClientCallListener<>(listener) {
                    @Override
                    public void onClose(Status status, Metadata trailers) {
                        trailers.put(TARGET, target);
                        super.onClose(status, trailers);
                    }
                }, headers);
            }
        };
    }

    /** Adds the key to the headers of an attempt. It throws the status of a call that cannot be made. */
    void authorize(Metadata headers) throws StatusException {
        if (closed) {
            var refused = "this client is closed: use another one, or close it later";
            throw Status.FAILED_PRECONDITION.withDescription(refused).asException();
        }
        try {
            var key = apiKey.get();
            if (key != null && !key.isEmpty() && !headers.containsKey(AUTHORIZATION)) {
                headers.put(AUTHORIZATION, "Bearer " + key);
            }
        } catch (RuntimeException failed) {
            throw Status.UNAUTHENTICATED.withDescription("the API key: " + failed).withCause(failed).asException();
        }
    }

    ScheduledExecutorService timer() {
        return timer;
    }

    /** Lets the next attempt connect at once, instead of after gRPC's own wait of a second or more. */
    void connectAgain() {
        connection.resetConnectBackoff();
    }

    /** The request, with a new request_id if its type has one and it is empty. */
    @SuppressWarnings("unchecked")
    static <Q> Q withRequestId(Q request) {
        if (!(request instanceof Message message)) {
            return request;
        }
        var field = message.getDescriptorForType().findFieldByName("request_id");
        if (field == null || field.getJavaType() != FieldDescriptor.JavaType.STRING || field.isRepeated()) {
            return request;
        }
        if (!((String) message.getField(field)).isEmpty()) {
            return request;
        }
        return (Q) message.toBuilder().setField(field, UUID.randomUUID().toString()).build();
    }

    /** The wait before the next attempt; empty: there is none. */
    Optional<Duration> delay(
            MethodDescriptor<?, ?> method,
            Object request,
            CallOptions options,
            int attempt,
            Status status,
            Metadata trailers) {
        if (attempt >= retry.maxAttempts()) {
            return Optional.empty();
        }
        var retryAfter = RecollectException.of(status.asRuntimeException(trailers)).retryAfter();
        // The server refused the call before it did anything.
        var refused = status.getCode() == Status.Code.RESOURCE_EXHAUSTED && retryAfter.isPresent();
        // The call may have been executed.
        var unknown = status.getCode() == Status.Code.UNAVAILABLE && isRepeatable(method, request);
        if (!refused && !unknown) {
            return Optional.empty();
        }
        var delay = pause(attempt, retryAfter);
        var deadline = options.getDeadline();
        if (deadline != null && deadline.timeRemaining(TimeUnit.NANOSECONDS) <= delay.toNanos()) {
            return Optional.empty();
        }
        return Optional.of(delay);
    }

    /**
     * The wait before a stream is opened again; empty: it is not.
     *
     * @param failures how many streams in a row failed
     */
    Optional<Duration> delay(RecollectException failed, int failures) {
        var mayResume = failed.code() == Status.Code.UNAVAILABLE
                || failed.code() == Status.Code.DEADLINE_EXCEEDED
                || failed.retryAfter().isPresent();
        if (!mayResume || failures >= retry.maxAttempts()) {
            return Optional.empty();
        }
        return Optional.of(pause(failures, failed.retryAfter()));
    }

    /**
     * Whether a stream that failed had worked, so that its failure does not count: it is the server
     * that ends such a stream, or a proxy.
     */
    boolean hadWorked(RecollectException failed, Duration lasted) {
        // A second allows for connecting.
        var longest = Math.max(retry.maxBackoff().toNanos(), TimeUnit.SECONDS.toNanos(1));
        return failed.code() == Status.Code.DEADLINE_EXCEEDED || lasted.toNanos() > longest;
    }

    /** The wait after a failed attempt of this number, at least the server's delay. */
    private Duration pause(int attempt, Optional<Duration> retryAfter) {
        var longest = Math.min(
                retry.maxBackoff().toNanos(),
                retry.initialBackoff().toNanos() * Math.pow(2, attempt - 1));
        var backoff = Math.max(retryAfter.orElse(Duration.ZERO).toNanos(), longest / 2);
        return Duration.ofNanos((long) (backoff + ThreadLocalRandom.current().nextDouble() * longest / 2));
    }

    /** Whether executing a call twice has the effect of executing it once. */
    private static boolean isRepeatable(MethodDescriptor<?, ?> method, Object request) {
        if (!(method.getSchemaDescriptor() instanceof ProtoMethodDescriptorSupplier supplier)) {
            return false;
        }
        var descriptor = supplier.getMethodDescriptor();
        if (descriptor.getInputType().findFieldByName("request_id") != null) {
            return true;
        }
        return switch (descriptor.getOptions().getIdempotencyLevel()) {
            case NO_SIDE_EFFECTS -> true;
            case IDEMPOTENT -> !hasPrecondition(request);
            case IDEMPOTENCY_UNKNOWN -> false;
        };
    }

    /** Whether a request names a state, which the first run of the call changes. */
    private static boolean hasPrecondition(Object request) {
        return request instanceof Message message
                && message.getAllFields().keySet().stream()
                        .anyMatch(field -> PRECONDITIONS.contains(field.getName()));
    }
}
