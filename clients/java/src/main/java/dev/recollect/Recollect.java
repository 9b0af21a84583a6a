package dev.recollect;

import dev.recollect.v1.SessionRef;
import dev.recollect.v1.ThreadRef;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ChannelCredentials;
import io.grpc.ClientInterceptors;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.TlsChannelCredentials;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * A client with one connection. Share it, and close it at the end.
 *
 * <pre>{@code
 * var memory = recollect.session("support", "ada", "42");
 * var context = memory.context("What is my dog called?", Format.OPENAI); // context.messages()
 * memory.append(question, answer);
 * }</pre>
 *
 * <p>Every call has a deadline, a request id if it stores something, and retries. Failed calls
 * throw a {@link RecollectException}. All classes but {@link SubscriptionEvents} are safe for use
 * by several threads.
 */
public final class Recollect implements AutoCloseable {
    /** The version of this client. */
    public static final String VERSION = "1.0.0";
    /**
     * Stands for no user, where a conversation or memories belong to none, such as those of a public
     * page. An empty or missing user is refused instead, since it may be a look-up that failed: all
     * whose look-up fails would share one conversation.
     */
    public static final String NO_USER = "\0no user";

    private final ManagedChannel connection;
    private final Reliable reliable;
    private final Channel channel;
    private final Calls calls;

    private Recollect(Builder builder) {
        var address = builder.address();
        var secure = address.startsWith("https://") || builder.credentials != null;
        if (address.startsWith("http://") && secure) {
            throw new IllegalArgumentException("the address " + address + " is without TLS");
        }
        var credentials = builder.credentials;
        if (credentials == null) {
            credentials = secure ? TlsChannelCredentials.create() : InsecureChannelCredentials.create();
        }
        var target = address.replaceFirst("^https?://", "").replaceFirst("/+$", "");
        if (address.startsWith("https://") && !target.matches(".*:\\d+")) {
            target += ":443";
        }
        if (!secure && builder.hasKey && !builder.plaintextKey && !isLocal(target)) {
            throw new IllegalArgumentException("the API key would be sent to " + target + " in the clear: use "
                    + "https://, or on a private network plaintextKey(true) or RECOLLECT_ALLOW_PLAINTEXT_KEY=1");
        }
        var channel = Grpc.newChannelBuilder(target, credentials)
                .userAgent("recollect-java/" + VERSION)
                .keepAliveTime(1, TimeUnit.MINUTES)
                .keepAliveTimeout(20, TimeUnit.SECONDS)
                .maxInboundMessageSize(16 << 20)
                .disableRetry();
        if (builder.authority != null) {
            channel.overrideAuthority(builder.authority);
        }
        connection = channel.build();
        reliable = new Reliable(connection, target, builder.apiKey, builder.timeout, builder.retry);
        this.channel = ClientInterceptors.intercept(connection, reliable);
        calls = new Calls(this.channel, CallOptions.DEFAULT);
    }

    /** Whether connections to a target stay on this machine. */
    private static boolean isLocal(String target) {
        // Without the scheme of a resolver, such as dns:///, and without the port.
        var host = target.replaceFirst("^.*/", "").replaceFirst(":\\d+$", "").replaceAll("[\\[\\]]", "");
        return target.startsWith("unix:")
                || host.equals("localhost")
                || host.endsWith(".localhost")
                || host.matches("127(\\.\\d{1,3}){3}")
                || host.equals("::1");
    }

    /** A client with all defaults: address and API key come from the environment. */
    public static Recollect create() {
        return builder().build();
    }

    /** The options of a client. */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * The memory of one conversation.
     *
     * @param app the bot, flow or workflow: 1 to 128 characters
     * @param user the person: 1 to 256 characters; or {@link #NO_USER}
     * @param session the key of the conversation, such as {@code 42}
     */
    public Session session(String app, String user, String session) {
        var named = SessionRef.newBuilder().setAppId(app).setUserId(Users.id(user)).setSessionKey(session);
        return new Session(calls, ThreadRef.newBuilder().setSession(named).build());
    }

    /** The memory of one conversation, named with all fields of the contract; its user as above. */
    public Session session(SessionRef session) {
        var named = session.toBuilder().setUserId(Users.id(session.getUserId()));
        return new Session(calls, ThreadRef.newBuilder().setSession(named).build());
    }

    /** The memory of the thread with this id, a UUID. */
    public Session thread(String threadId) {
        return new Session(calls, ThreadRef.newBuilder().setThreadId(threadId).build());
    }

    /** The long-term memories of a user of an app; with {@link #NO_USER} those of no user. */
    public Memories memories(String app, String user) {
        return new Memories(calls, Users.ref(app, user));
    }

    /** The text files that agents keep for a user of an app; with {@link #NO_USER} those of the app. */
    public Files files(String app, String user) {
        return new Files(calls, Users.ref(app, user));
    }

    /**
     * An app and its policy.
     *
     * @param app the bot, flow or workflow: 1 to 128 characters
     */
    public App app(String app) {
        return new App(calls, app);
    }

    /** The tenant's subscriptions to changes. */
    public Subscriptions subscriptions() {
        return new Subscriptions(calls, reliable);
    }

    /** The threads of the tenant. */
    public Threads threads() {
        return new Threads(calls);
    }

    /**
     * A stub of a generated service, for every method of the contract:
     * {@code recollect.stub(PlanServiceGrpc::newBlockingStub)}. Its calls have the same key,
     * deadline, request ids and retries. They fail as the stub documents it;
     * {@link RecollectException#of} reads the details.
     */
    public <S> S stub(Function<Channel, S> stub) {
        return stub.apply(channel);
    }

    /** The client with its server, without the key. */
    @Override
    public String toString() {
        return "Recollect(" + reliable.target() + ")";
    }

    /** Closes the connection, after at most five seconds for calls in progress. Later calls fail. */
    @Override
    public void close() {
        reliable.refuse();
        connection.shutdown();
        try {
            connection.awaitTermination(5, TimeUnit.SECONDS);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
        connection.shutdownNow();
        reliable.close();
    }

    /** The options of a client. */
    public static final class Builder {
        private String address;
        private Supplier<String> apiKey;
        private boolean hasKey;
        private boolean plaintextKey;
        private ChannelCredentials credentials;
        private String authority;
        private Duration timeout = Duration.ofSeconds(30);
        private RetryPolicy retry = RetryPolicy.DEFAULT;

        private Builder() {
            var key = System.getenv("RECOLLECT_API_KEY");
            apiKey = () -> key;
            hasKey = key != null && !key.isEmpty();
            var allowed = System.getenv("RECOLLECT_ALLOW_PLAINTEXT_KEY");
            plaintextKey = "1".equals(allowed) || "true".equalsIgnoreCase(allowed);
        }

        /**
         * The server, as {@code host:port} or with a scheme: {@code https://} uses TLS,
         * {@code http://} does not. Default: the environment variable RECOLLECT_ADDR, or else
         * {@code 127.0.0.1:50051}.
         */
        public Builder address(String address) {
            this.address = address;
            return this;
        }

        private String address() {
            var given = address == null || address.isEmpty() ? System.getenv("RECOLLECT_ADDR") : address;
            return given == null || given.isEmpty() ? "127.0.0.1:50051" : given;
        }

        /** The API key. Default: the environment variable RECOLLECT_API_KEY. */
        public Builder apiKey(String key) {
            apiKey(() -> key);
            hasKey = key != null && !key.isEmpty();
            return this;
        }

        /** Supplies the current API key or token (JWT), before each attempt of a call. It must not block. */
        public Builder apiKey(Supplier<String> key) {
            apiKey = Objects.requireNonNull(key);
            hasKey = true;
            return this;
        }

        /**
         * Allows or forbids that the key is sent without TLS to another machine, as on a private
         * network. Default: the environment variable RECOLLECT_ALLOW_PLAINTEXT_KEY, or else false.
         */
        public Builder plaintextKey(boolean allowed) {
            plaintextKey = allowed;
            return this;
        }

        /**
         * TLS with own authorities or a client certificate:
         * {@code TlsChannelCredentials.newBuilder().trustManager(file).keyManager(file, file).build()}.
         * Default: no TLS, or with {@code https://} the authorities of Java.
         */
        public Builder tls(ChannelCredentials credentials) {
            this.credentials = Objects.requireNonNull(credentials);
            return this;
        }

        /** The name in the server's certificate. Default: the host of the address. */
        public Builder serverName(String name) {
            authority = name;
            return this;
        }

        /** The deadline of a call without one of its own, all its attempts included. Default: 30 seconds. Zero: none. */
        public Builder timeout(Duration timeout) {
            this.timeout = Objects.requireNonNull(timeout);
            return this;
        }

        /** How calls are repeated that failed for a passing reason. */
        public Builder retry(RetryPolicy retry) {
            this.retry = Objects.requireNonNull(retry);
            return this;
        }

        /** The client. It does not connect yet; the first call does. */
        public Recollect build() {
            return new Recollect(this);
        }
    }
}
