package dev.recollect;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusException;
import java.time.Duration;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/** A call with one request and one response that is repeated while {@link Reliable} says so. */
final class RepeatedCall<Q, R> extends ClientCall<Q, R> {
    private final Reliable reliable;
    private final MethodDescriptor<Q, R> method;
    private final CallOptions options;
    private final Channel next;
    private Listener<R> listener;
    private Metadata headers;
    private Q request;

    // Guarded by this.
    private ClientCall<Q, R> attempt;
    private Future<?> wait;
    private int attempts;
    private boolean canceled;

    RepeatedCall(Reliable reliable, MethodDescriptor<Q, R> method, CallOptions options, Channel next) {
        this.reliable = reliable;
        this.method = method;
        this.options = options;
        this.next = next;
    }

    @Override
    public void start(Listener<R> listener, Metadata headers) {
        this.listener = listener;
        this.headers = headers;
    }

    /** Each attempt asks for its response itself. */
    @Override
    public void request(int count) {}

    @Override
    public void sendMessage(Q message) {
        request = Reliable.withRequestId(message);
    }

    /** The request is complete: the first attempt begins. */
    @Override
    public void halfClose() {
        attempt();
    }

    @Override
    public void cancel(String message, Throwable cause) {
        synchronized (this) {
            if (canceled) {
                return;
            }
            canceled = true;
            if (wait == null && attempt != null) {
                attempt.cancel(message, cause);
                return;
            }
            // Between two attempts nothing else ends the call.
            if (wait != null) {
                wait.cancel(false);
            }
        }
        close(Status.CANCELLED.withDescription(message).withCause(cause), new Metadata());
    }

    private void attempt() {
        var sent = new Metadata();
        sent.merge(headers);
        try {
            reliable.authorize(sent);
        } catch (StatusException refused) {
            close(refused.getStatus(), new Metadata());
            return;
        }
        synchronized (this) {
            if (canceled) {
                return;
            }
            wait = null;
            attempts++;
            attempt = next.newCall(method, options);
            attempt.start(new Attempt(), sent);
            attempt.request(2);
            attempt.sendMessage(request);
            attempt.halfClose();
        }
    }

    private synchronized boolean isCanceled() {
        return canceled;
    }

    private void close(Status status, Metadata trailers) {
        Executor executor = options.getExecutor() == null ? Runnable::run : options.getExecutor();
        executor.execute(() -> listener.onClose(status, trailers));
    }

    /** Holds back what an attempt returns until it is known to be the last one. */
    private final class Attempt extends Listener<R> {
        private Metadata received = new Metadata();
        private R response;

        @Override
        public void onHeaders(Metadata headers) {
            received = headers;
        }

        @Override
        public void onMessage(R message) {
            response = message;
        }

        @Override
        public void onClose(Status status, Metadata trailers) {
            if (status.isOk()) {
                listener.onHeaders(received);
                listener.onMessage(response);
                listener.onClose(status, trailers);
            } else if (!isRepeated(status, trailers)) {
                trailers.put(Reliable.ATTEMPTS, String.valueOf(attempts));
                trailers.put(Reliable.TARGET, reliable.target());
                listener.onClose(isCanceled() ? Status.CANCELLED.withCause(status.asException()) : status, trailers);
            }
        }

        private boolean isRepeated(Status status, Metadata trailers) {
            synchronized (RepeatedCall.this) {
                var delay = reliable.delay(method, request, options, attempts, status, trailers);
                if (canceled || delay.isEmpty()) {
                    return false;
                }
                return schedule(delay.get());
            }
        }

        private boolean schedule(Duration delay) {
            try {
                wait = reliable.timer().schedule(() -> {
                    reliable.connectAgain();
                    attempt();
                }, delay.toNanos(), TimeUnit.NANOSECONDS);
                return true;
            } catch (RejectedExecutionException closed) {
                return false;
            }
        }
    }
}
