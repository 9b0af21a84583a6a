package dev.recollect;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;

/** The error of every failed call. */
public final class RecollectException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** A field of a request with an invalid value: its path, and what is wrong with the value. */
    public record FieldError(String field, String description) {}

    private final transient Details details;

    private record Details(
            Status status,
            Metadata trailers,
            String reason,
            Map<String, String> metadata,
            List<FieldError> fields,
            Optional<Duration> retryAfter,
            int attempts) {}

    private RecollectException(Details details, Throwable cause) {
        super(readable(details), cause);
        this.details = details;
    }

    /** The exception for anything that a call threw. */
    public static RecollectException of(Throwable thrown) {
        if (thrown instanceof RecollectException known) {
            return known;
        }
        if ((thrown instanceof CompletionException || thrown instanceof ExecutionException)
                && thrown.getCause() != null) {
            return of(thrown.getCause());
        }
        var trailers = Status.trailersFromThrowable(thrown);
        var status = Status.fromThrowable(thrown);
        return new RecollectException(read(status, trailers == null ? new Metadata() : trailers), thrown);
    }

    /** The same error with the stack of the caller; the cause has that of the call. */
    RecollectException here() {
        return new RecollectException(details, this);
    }

    /** The code of gRPC. */
    public Status.Code code() {
        return details.status.getCode();
    }

    /**
     * The kind of error: a name of {@code ErrorReason} without its prefix, such as
     * {@code THREAD_NOT_FOUND}. Empty: the server did not answer.
     */
    public String reason() {
        return details.reason;
    }

    /** What the server says about the reason, such as the {@code head} of {@code HEAD_MOVED}. */
    public Map<String, String> metadata() {
        return details.metadata;
    }

    /** The invalid fields of the request. */
    public List<FieldError> fields() {
        return details.fields;
    }

    /** The delay after which the server expects a retry to succeed. */
    public Optional<Duration> retryAfter() {
        return details.retryAfter;
    }

    /** The number of attempts that were made. */
    public int attempts() {
        return details.attempts;
    }

    /** The error as gRPC gives it, with all details in its trailers. */
    public StatusRuntimeException toStatusException() {
        return details.status.asRuntimeException(details.trailers);
    }

    private static Details read(Status status, Metadata trailers) {
        var reason = "";
        Map<String, String> metadata = Map.of();
        var fields = new ArrayList<FieldError>();
        Optional<Duration> retryAfter = Optional.empty();
        var proto = StatusProto.fromStatusAndTrailers(status, trailers);
        for (Any detail : proto.getDetailsList()) {
            try {
                if (detail.is(ErrorInfo.class)) {
                    var info = detail.unpack(ErrorInfo.class);
                    reason = info.getReason();
                    metadata = Map.copyOf(info.getMetadataMap());
                } else if (detail.is(BadRequest.class)) {
                    for (var violation : detail.unpack(BadRequest.class).getFieldViolationsList()) {
                        fields.add(new FieldError(violation.getField(), violation.getDescription()));
                    }
                } else if (detail.is(RetryInfo.class)) {
                    var delay = detail.unpack(RetryInfo.class).getRetryDelay();
                    retryAfter = Optional.of(Duration.ofSeconds(delay.getSeconds(), delay.getNanos()));
                }
            } catch (InvalidProtocolBufferException malformed) {
                // The code and the message say what is left to say.
                continue;
            }
        }
        var attempts = trailers.get(Reliable.ATTEMPTS);
        return new Details(status, trailers, reason, metadata, List.copyOf(fields), retryAfter,
                attempts == null ? 1 : Integer.parseInt(attempts));
    }

    private static String readable(Details details) {
        var text = new StringBuilder(details.status.getCode().name());
        if (!details.reason.isEmpty()) {
            text.append(" (").append(details.reason).append(')');
        }
        var message = details.status.getDescription() == null ? "" : details.status.getDescription();
        text.append(": ").append(message);
        for (var field : details.fields) {
            if (!message.contains(field.field())) {
                text.append("; ").append(field.field()).append(": ").append(field.description());
            }
        }
        if (details.attempts > 1) {
            text.append(" (after ").append(details.attempts).append(" attempts)");
        }
        return text.toString();
    }
}
