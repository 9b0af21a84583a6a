package dev.recollect;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/** Calls with one request and one response. */
record Calls(Channel channel, CallOptions options) {
    Calls withTimeout(Duration timeout) {
        return new Calls(channel, options.withOption(Reliable.TIMEOUT, timeout));
    }

    /** Starts a call; it fails with {@link RecollectException}, and canceling the result cancels it. */
    <Q, R> CompletableFuture<R> start(MethodDescriptor<Q, R> method, Q request) {
        var call = channel.newCall(method, options);
        var result = new CompletableFuture<R>();
        ClientCalls.asyncUnaryCall(call, request, new StreamObserver<R>() {
            @Override
            public void onNext(R response) {
                result.complete(response);
            }

            @Override
            public void onError(Throwable failure) {
                result.completeExceptionally(RecollectException.of(failure));
            }

            @Override
            public void onCompleted() {}
        });
        result.whenComplete((response, failure) -> {
            if (failure instanceof CancellationException) {
                call.cancel("canceled by the caller", failure);
            }
        });
        return result;
    }

    /** Waits for the result of a call. */
    static <T> T await(CompletableFuture<T> result) {
        try {
            return result.get();
        } catch (ExecutionException failed) {
            throw RecollectException.of(failed.getCause()).here();
        } catch (InterruptedException interrupted) {
            result.cancel(true);
            throw interrupted(interrupted);
        }
    }

    /** The error of a wait that was interrupted. The thread stays interrupted. */
    static RecollectException interrupted(InterruptedException cause) {
        Thread.currentThread().interrupt();
        var canceled = Status.CANCELLED.withDescription("the thread was interrupted");
        return RecollectException.of(canceled.withCause(cause).asRuntimeException());
    }
}
