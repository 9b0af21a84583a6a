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

    /** The error of a call that is refused before it is sent, as the server would refuse it. */
    static RecollectException invalid(String field, String description) {
        var info = ErrorInfo.newBuilder().setReason("INVALID_FIELD").setDomain("recollect.dev");
        var violation = BadRequest.FieldViolation.newBuilder().setField(field).setDescription(description);
        return of(StatusProto.toStatusRuntimeException(com.google.rpc.Status.newBuilder()
                .setCode(Status.Code.INVALID_ARGUMENT.value())
                .setMessage(field + ": " + description)
                .addDetails(Any.pack(info.build()))
                .addDetails(Any.pack(BadRequest.newBuilder().addFieldViolations(violation).build()))
                .build()));
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

    /** What happened and what to do, which the server cannot say because it depends on this client. */
    private static String advised(Details details) {
        var said = details.status.getDescription() == null ? "" : details.status.getDescription();
        var target = details.trailers.get(Reliable.TARGET);
        if (target == null) {
            return said;
        }
        if (details.status.getCode() == Status.Code.UNAUTHENTICATED) {
            return said.replaceFirst("\\.$", "") + ". Pass a key of this server as apiKey, or set RECOLLECT_API_KEY";
        }
        var advice = details.reason.isEmpty() ? advice(details.status, target) : "";
        if (advice.isEmpty()) {
            return said;
        }
        var cause = details.status.getCause();
        return advice + " (" + said + (cause == null ? "" : ": " + cause.getMessage()) + ")";
    }

    private static String advice(Status status, String target) {
        return switch (status.getCode()) {
            case UNAVAILABLE -> {
                if (isCausedBy(status, "NotSslRecordException")) {
                    yield "The server at " + target
                            + " does not use TLS: use http:// in the address, or start it with a certificate";
                }
                if (isCausedBy(status, "Certificate") || isCausedBy(status, "CertPath")) {
                    yield "The certificate of " + target + " is not trusted: pass its authority with tls(…)";
                }
                yield "No Recollect server answers at " + target + ": start one (`recollect dev`), or set address or "
                        + "RECOLLECT_ADDR. A server with TLS needs an address with https://";
            }
            case DEADLINE_EXCEEDED -> target + " did not answer within the timeout of the call";
            case UNIMPLEMENTED -> "The server at " + target
                    + " has no such method: it is older than this client, or no Recollect server";
            default -> "";
        };
    }

    private static boolean isCausedBy(Status status, String name) {
        for (var cause = status.getCause(); cause != null; cause = cause.getCause()) {
            if (cause.getClass().getSimpleName().contains(name)) {
                return true;
            }
        }
        return false;
    }

    private static String readable(Details details) {
        var text = new StringBuilder(details.status.getCode().name());
        if (!details.reason.isEmpty()) {
            text.append(" (").append(details.reason).append(')');
        }
        var message = advised(details);
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
