import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.protobuf.Any;
import com.google.protobuf.Duration;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import dev.recollect.Messages;
import dev.recollect.Recollect;
import dev.recollect.RecollectException;
import dev.recollect.RetryPolicy;
import dev.recollect.v1.AppendEventsRequest;
import dev.recollect.v1.AppendEventsResponse;
import dev.recollect.v1.AppendMessagesRequest;
import dev.recollect.v1.AppendMessagesResponse;
import dev.recollect.v1.CreateThreadRequest;
import dev.recollect.v1.CreateThreadResponse;
import dev.recollect.v1.EventServiceGrpc;
import dev.recollect.v1.GetThreadRequest;
import dev.recollect.v1.GetThreadResponse;
import dev.recollect.v1.MessageServiceGrpc;
import dev.recollect.v1.Precondition;
import dev.recollect.v1.SetHeadRequest;
import dev.recollect.v1.SetHeadResponse;
import dev.recollect.v1.ThreadServiceGrpc;
import dev.recollect.v1.UpdateThreadRequest;
import dev.recollect.v1.UpdateThreadResponse;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerCredentials;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.TlsChannelCredentials;
import io.grpc.TlsServerCredentials;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.StreamObserver;
import java.io.File;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Retries, deadlines, request ids and TLS against a scripted server. */
class RetryTest {
    private static final int DELAY_MS = 300;
    private static final Context.Key<String> KEY = Context.key("authorization");

    /** What the server does with one call of AppendMessages. */
    private enum Step {
        ANSWER,
        STORE_THEN_FAIL,
        FAIL,
        REFUSE,
        REFUSE_FOR_GOOD,
        INVALID,
        HANG
    }

    private record Call(String requestId, String key, long nanos) {}

    private final Queue<Step> steps = new ConcurrentLinkedQueue<>();
    /** The number of messages by request_id. */
    private final Map<String, Integer> stored = new ConcurrentHashMap<>();
    private final List<Call> calls = Collections.synchronizedList(new ArrayList<>());
    private final AtomicInteger others = new AtomicInteger();
    private final CountDownLatch hanging = new CountDownLatch(1);
    private final ArrayDeque<AutoCloseable> open = new ArrayDeque<>();

    @AfterEach
    void close() throws Exception {
        while (!open.isEmpty()) {
            open.pop().close();
        }
    }

    private Server serve(ServerCredentials credentials) throws IOException {
        Server server = Grpc.newServerBuilderForPort(0, credentials)
                .addService(new ScriptedMessages())
                .addService(new FailingThreads())
                .addService(new FailingEvents())
                .intercept(new KeyReader())
                .build()
                .start();
        open.push(() -> server.shutdownNow().awaitTermination());
        return server;
    }

    /** Starts a server that takes these steps in order, and then answers. */
    private Recollect start(RetryPolicy retry, java.time.Duration timeout, Step... steps) throws IOException {
        Collections.addAll(this.steps, steps);
        var server = serve(InsecureServerCredentials.create());
        var recollect = Recollect.builder()
                .address("127.0.0.1:" + server.getPort())
                .apiKey("secret")
                .retry(retry)
                .timeout(timeout)
                .build();
        open.push(recollect);
        return recollect;
    }

    private Recollect start(Step... steps) throws IOException {
        return start(RetryPolicy.DEFAULT, java.time.Duration.ofSeconds(30), steps);
    }

    private static RetryPolicy attempts(int count) {
        return new RetryPolicy(count, java.time.Duration.ofMillis(20), java.time.Duration.ofMillis(100));
    }

    private static AppendMessagesResponse append(Recollect recollect) {
        return recollect.session("support", "ada", "42").append("My dog is called Pixel.", "A fine name!");
    }

    private static Step[] failures(int count) {
        return Collections.nCopies(count, Step.FAIL).toArray(Step[]::new);
    }

    @Test
    void aWriteThatWasStoredBeforeItsFailureIsStoredOnce() throws IOException {
        var response = append(start(Step.STORE_THEN_FAIL, Step.FAIL));
        assertTrue(response.getReplayed());
        assertEquals(3, calls.size());
        assertEquals(Map.of(calls.get(0).requestId(), 2), stored);
        assertEquals(36, calls.get(0).requestId().length());
        assertEquals(calls.get(0).requestId(), calls.get(2).requestId());
        assertEquals("Bearer secret", calls.get(2).key());
    }

    @Test
    void eachCallHasARequestIdOfItsOwnUnlessItIsGiven() throws IOException {
        var recollect = start();
        append(recollect);
        append(recollect);
        var id = "0198c1de-3e07-4a4b-9a56-0d6f3a5b8c11";
        recollect.session("support", "ada", "42")
                .append(request -> request.setRequestId(id).addMessages(Messages.user("Hello")));
        var ids = calls.stream().map(Call::requestId).toList();
        assertEquals(3, new HashSet<>(ids).size());
        assertEquals(id, ids.get(2));
    }

    @Test
    void theServersDelayIsRespected() throws IOException {
        append(start(Step.REFUSE, Step.REFUSE));
        assertEquals(3, calls.size());
        for (var index = 1; index < 3; index++) {
            var waited = calls.get(index).nanos() - calls.get(index - 1).nanos();
            assertTrue(waited >= TimeUnit.MILLISECONDS.toNanos(DELAY_MS), waited + " ns");
        }
        assertEquals(1, stored.size());
    }

    @Test
    void whatCannotSucceedIsNotRepeated() throws IOException {
        var recollect = start(Step.INVALID, Step.REFUSE_FOR_GOOD);
        var invalid = assertThrows(RecollectException.class, () -> append(recollect));
        assertEquals("INVALID_FIELD", invalid.reason());
        var full = assertThrows(RecollectException.class, () -> append(recollect));
        assertEquals("EPHEMERAL_MEMORY_FULL", full.reason());
        assertEquals(2, calls.size());
    }

    @Test
    void aCallThatMayHaveHappenedIsRepeatedOnlyIfThatIsSafe() throws IOException {
        var recollect = start(attempts(3), java.time.Duration.ofSeconds(30));
        var threads = recollect.stub(ThreadServiceGrpc::newBlockingStub);
        assertThrows(
                StatusRuntimeException.class, () -> threads.createThread(CreateThreadRequest.getDefaultInstance()));
        assertEquals(1, others.get(), "creating a thread");
        var failed = assertThrows(
                StatusRuntimeException.class, () -> threads.getThread(GetThreadRequest.getDefaultInstance()));
        assertEquals(3, RecollectException.of(failed).attempts());
        var events = recollect.stub(EventServiceGrpc::newBlockingStub);
        assertThrows(StatusRuntimeException.class, () -> events.appendEvents(AppendEventsRequest.getDefaultInstance()));
        assertEquals(7, others.get(), "reading, and a write with a request id");
    }

    @Test
    void aWriteThatNamesTheStateToChangeIsNotRepeated() throws IOException {
        var recollect = start(attempts(3), java.time.Duration.ofSeconds(30));
        var threads = recollect.stub(ThreadServiceGrpc::newBlockingStub);
        var head = SetHeadRequest.newBuilder().setHeadMessageId("1");
        assertThrows(StatusRuntimeException.class, () -> threads.setHead(head.build()));
        assertEquals(3, others.get());
        assertThrows(StatusRuntimeException.class, () -> threads.setHead(head.setExpectedHead("").build()));
        assertEquals(4, others.get());
        var update = UpdateThreadRequest.newBuilder();
        assertThrows(StatusRuntimeException.class, () -> threads.updateThread(
                update.setThread(dev.recollect.v1.Thread.newBuilder().setTitle("A dog")).build()));
        assertEquals(7, others.get());
        assertThrows(StatusRuntimeException.class, () -> threads.updateThread(
                update.setPrecondition(Precondition.newBuilder().setEtag("1")).build()));
        assertEquals(8, others.get());
    }

    @Test
    void aKeyIsSentToOtherMachinesWithTlsOnly() {
        for (var address : List.of(
                "localhost:1", "a.localhost:1", "127.1.2.3:1", "[::1]:1", "http://127.0.0.1:1", "https://memory.example")) {
            Recollect.builder().address(address).apiKey("secret").build().close();
        }
        for (var address : List.of("memory.example:1", "dns:///memory.example:1", "http://10.0.0.7:1", "[2001:db8::1]:1")) {
            var named = Recollect.builder().address(address).apiKey("secret");
            assertThrows(IllegalArgumentException.class, named::build);
            assertThrows(IllegalArgumentException.class, named.apiKey(() -> "token")::build);
            named.plaintextKey(true).build().close();
            named.plaintextKey(false).apiKey("").build().close();
        }
    }

    @Test
    void attemptsAreLimitedAndTheErrorSaysHowManyThereWere() throws IOException {
        var recollect = start(attempts(2), java.time.Duration.ofSeconds(30), failures(9));
        var failed = assertThrows(RecollectException.class, () -> append(recollect));
        assertEquals(2, failed.attempts());
        assertEquals("UNAVAILABLE (DATABASE_UNAVAILABLE): scripted (after 2 attempts)", failed.getMessage());
        assertEquals(2, calls.size());
    }

    @Test
    void aCallHasADeadlineItsRetriesIncluded() throws IOException {
        var recollect = start(RetryPolicy.DEFAULT, java.time.Duration.ofMillis(600), Step.HANG);
        var late = assertThrows(RecollectException.class, () -> append(recollect));
        assertEquals(Status.Code.DEADLINE_EXCEEDED, late.code());
        Collections.addAll(steps, failures(50));
        var begin = System.nanoTime();
        var failed = assertThrows(RecollectException.class, () -> recollect
                .session("support", "ada", "42")
                .withTimeout(java.time.Duration.ofMillis(300))
                .append("Hello", "Hello"));
        // The deadline may pass during an attempt, or be too close for the next one.
        assertTrue(Set.of(Status.Code.UNAVAILABLE, Status.Code.DEADLINE_EXCEEDED).contains(failed.code()));
        assertTrue(System.nanoTime() - begin < TimeUnit.SECONDS.toNanos(5));
        assertTrue(calls.size() < 50);
    }

    @Test
    void aCanceledCallIsNotRepeated() throws Exception {
        var recollect = start(Step.HANG);
        var session = recollect.session("support", "ada", "42");
        var result = session.appendAsync(request -> request.addMessages(Messages.user("Hello")));
        assertTrue(hanging.await(10, TimeUnit.SECONDS));
        result.cancel(true);
        assertThrows(CancellationException.class, result::join);
        append(recollect);
        assertEquals(2, calls.size());
    }

    @Test
    void aThreadThatIsInterruptedBetweenTwoAttemptsStopsWaiting() throws Exception {
        var slow = new RetryPolicy(9, java.time.Duration.ofMinutes(1), java.time.Duration.ofMinutes(1));
        var recollect = start(slow, java.time.Duration.ZERO, failures(1));
        var stub = recollect.stub(MessageServiceGrpc::newBlockingStub);
        var failed = new ArrayList<Throwable>();
        var caller = new Thread(() -> {
            try {
                stub.appendMessages(AppendMessagesRequest.getDefaultInstance());
            } catch (StatusRuntimeException canceled) {
                failed.add(canceled);
            }
        });
        caller.start();
        while (calls.isEmpty()) {
            Thread.sleep(5);
        }
        caller.interrupt();
        caller.join(10_000);
        assertEquals(1, failed.size());
        assertEquals(Status.Code.CANCELLED, Status.fromThrowable(failed.get(0)).getCode());
    }

    @Test
    void noServerIsUnavailable() throws IOException {
        int port;
        try (var socket = new ServerSocket(0)) {
            port = socket.getLocalPort();
        }
        try (var recollect = Recollect.builder().address("127.0.0.1:" + port).retry(attempts(2)).build()) {
            var failed = assertThrows(RecollectException.class, () -> append(recollect));
            assertEquals(Status.Code.UNAVAILABLE, failed.code());
            assertEquals(2, failed.attempts());
            says(failed, "No Recollect server answers at 127.0.0.1:" + port + ": start one (`recollect dev`)");
        }
    }

    @Test
    void aServerWithoutTlsIsNamedAsSuch() throws IOException {
        var server = serve(InsecureServerCredentials.create());
        try (var recollect = Recollect.builder()
                .address("https://127.0.0.1:" + server.getPort())
                .retry(RetryPolicy.NEVER)
                .build()) {
            var failed = assertThrows(RecollectException.class, () -> append(recollect));
            says(failed, "does not use TLS: use http:// in the address");
        }
    }

    @Test
    void aCallAfterCloseSaysSo() throws IOException {
        var server = serve(InsecureServerCredentials.create());
        var recollect = Recollect.builder().address("127.0.0.1:" + server.getPort()).build();
        recollect.close();
        var failed = assertThrows(RecollectException.class, () -> append(recollect));
        assertEquals(Status.Code.FAILED_PRECONDITION, failed.code());
        says(failed, "this client is closed");
    }

    @Test
    void anEmptyUserAndAnEmptyTextAreRefused() throws IOException {
        var server = serve(InsecureServerCredentials.create());
        try (var recollect = Recollect.builder().address("127.0.0.1:" + server.getPort()).build()) {
            for (var user : new String[] {"", null}) {
                var failed = assertThrows(RecollectException.class, () -> recollect.session("support", user, "42"));
                assertEquals("INVALID_FIELD", failed.reason());
                assertEquals("user", failed.fields().get(0).field());
                says(failed, "NO_USER");
                assertThrows(RecollectException.class, () -> recollect.memories("support", user));
                assertThrows(RecollectException.class, () -> recollect.threads().list("support", user));
            }
            var memory = recollect.session("support", "ada", "42");
            says(assertThrows(RecollectException.class, () -> memory.append("Hello", "")), "is empty");
            says(assertThrows(RecollectException.class, () -> memory.append(null, "Hello")), "is empty");
            for (var user : new String[] {"", null, Recollect.NO_USER}) {
                says(assertThrows(RecollectException.class, () -> Messages.user("Hello", user)), "is no user");
            }
            assertEquals(0, calls.size());

            var nobody = recollect.session("support", Recollect.NO_USER, "42");
            nobody.append("Hello", "Good day.");
            assertEquals("", nobody.ref().getSession().getUserId());
            assertEquals("Session(app: support, user: ada, session: 42)", memory.toString());
        }
    }

    @Test
    void whatIsPrintedNamesTheServerAndNotTheKey() {
        try (var recollect = Recollect.builder().address("127.0.0.1:1").apiKey("secret").build()) {
            assertEquals("Recollect(127.0.0.1:1)", recollect.toString());
        }
    }

    private static void says(RecollectException failed, String text) {
        assertTrue(failed.getMessage().contains(text), failed.getMessage());
    }

    @Test
    void tlsWithClientCertificates(@TempDir Path directory) throws Exception {
        assumeTrue(Files.exists(Path.of("/usr/bin/openssl")), "no openssl");
        var ofServer = certificate(directory, "server");
        var ofClient = certificate(directory, "client");
        var server = serve(TlsServerCredentials.newBuilder()
                .keyManager(ofServer.certificate(), ofServer.key())
                .trustManager(ofClient.certificate())
                .clientAuth(TlsServerCredentials.ClientAuth.REQUIRE)
                .build());
        var trusting = TlsChannelCredentials.newBuilder().trustManager(ofServer.certificate());
        var anonymous = trusting.build();
        var known = trusting.keyManager(ofClient.certificate(), ofClient.key()).build();
        for (var credentials : List.of(anonymous, known)) {
            try (var recollect = Recollect.builder()
                    .address("https://127.0.0.1:" + server.getPort())
                    .tls(credentials)
                    .retry(RetryPolicy.NEVER)
                    .build()) {
                if (credentials == known) {
                    append(recollect);
                } else {
                    assertThrows(RecollectException.class, () -> append(recollect));
                }
            }
        }
        assertEquals(1, calls.size());
        var contradicting = Recollect.builder().address("http://127.0.0.1:1").tls(known);
        assertThrows(IllegalArgumentException.class, contradicting::build);
    }

    private record Certificate(File certificate, File key) {}

    /** A certificate for 127.0.0.1 that signs itself. */
    private static Certificate certificate(Path directory, String name) throws IOException, InterruptedException {
        var made = new Certificate(
                directory.resolve(name + ".pem").toFile(), directory.resolve(name + ".key").toFile());
        var command = List.of(
                "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=" + name,
                "-addext", "subjectAltName=IP:127.0.0.1",
                "-keyout", made.key().getPath(), "-out", made.certificate().getPath());
        var log = directory.resolve(name + ".log");
        var process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start();
        assertEquals(0, process.waitFor(), () -> {
            try {
                return Files.readString(log);
            } catch (IOException unreadable) {
                return unreadable.toString();
            }
        });
        return made;
    }

    private static StatusRuntimeException scripted(Status.Code code, String reason, int delayMs) {
        var status = com.google.rpc.Status.newBuilder().setCode(code.value()).setMessage("scripted");
        status.addDetails(Any.pack(ErrorInfo.newBuilder().setReason(reason).setDomain("recollect.dev").build()));
        if (delayMs > 0) {
            var delay = Duration.newBuilder().setNanos(delayMs * 1_000_000);
            status.addDetails(Any.pack(RetryInfo.newBuilder().setRetryDelay(delay).build()));
        }
        return StatusProto.toStatusRuntimeException(status.build());
    }

    private static StatusRuntimeException unavailable() {
        return scripted(Status.Code.UNAVAILABLE, "DATABASE_UNAVAILABLE", 0);
    }

    private final class ScriptedMessages extends MessageServiceGrpc.MessageServiceImplBase {
        @Override
        public void appendMessages(AppendMessagesRequest request, StreamObserver<AppendMessagesResponse> response) {
            calls.add(new Call(request.getRequestId(), KEY.get(), System.nanoTime()));
            var step = steps.isEmpty() ? Step.ANSWER : steps.remove();
            switch (step) {
                case FAIL -> response.onError(unavailable());
                case REFUSE -> response.onError(scripted(Status.Code.RESOURCE_EXHAUSTED, "OVERLOADED", DELAY_MS));
                case REFUSE_FOR_GOOD ->
                    response.onError(scripted(Status.Code.RESOURCE_EXHAUSTED, "EPHEMERAL_MEMORY_FULL", 0));
                case INVALID -> response.onError(scripted(Status.Code.INVALID_ARGUMENT, "INVALID_FIELD", 0));
                case HANG -> hanging.countDown();
                case ANSWER, STORE_THEN_FAIL -> {
                    var replayed = stored.putIfAbsent(request.getRequestId(), request.getMessagesCount()) != null;
                    if (step == Step.STORE_THEN_FAIL) {
                        response.onError(unavailable());
                    } else {
                        response.onNext(AppendMessagesResponse.newBuilder().setReplayed(replayed).build());
                        response.onCompleted();
                    }
                }
            }
        }
    }

    private final class FailingThreads extends ThreadServiceGrpc.ThreadServiceImplBase {
        @Override
        public void createThread(CreateThreadRequest request, StreamObserver<CreateThreadResponse> response) {
            others.incrementAndGet();
            response.onError(unavailable());
        }

        @Override
        public void setHead(SetHeadRequest request, StreamObserver<SetHeadResponse> response) {
            others.incrementAndGet();
            response.onError(unavailable());
        }

        @Override
        public void updateThread(UpdateThreadRequest request, StreamObserver<UpdateThreadResponse> response) {
            others.incrementAndGet();
            response.onError(unavailable());
        }

        @Override
        public void getThread(GetThreadRequest request, StreamObserver<GetThreadResponse> response) {
            others.incrementAndGet();
            response.onError(unavailable());
        }
    }

    private final class FailingEvents extends EventServiceGrpc.EventServiceImplBase {
        @Override
        public void appendEvents(AppendEventsRequest request, StreamObserver<AppendEventsResponse> response) {
            others.incrementAndGet();
            response.onError(unavailable());
        }
    }

    /** Lets the services read the API key. */
    private static final class KeyReader implements ServerInterceptor {
        @Override
        public <Q, R> ServerCall.Listener<Q> interceptCall(
                ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
            var key = headers.get(Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER));
            return Contexts.interceptCall(Context.current().withValue(KEY, key), call, headers, next);
        }
    }
}
