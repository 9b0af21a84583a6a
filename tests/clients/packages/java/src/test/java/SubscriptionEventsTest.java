import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.recollect.Recollect;
import dev.recollect.RecollectException;
import dev.recollect.RetryPolicy;
import dev.recollect.Subscriptions;
import dev.recollect.v1.AcknowledgeEventsRequest;
import dev.recollect.v1.AcknowledgeEventsResponse;
import dev.recollect.v1.StreamEventsRequest;
import dev.recollect.v1.StreamEventsResponse;
import dev.recollect.v1.SubscriptionEvent;
import dev.recollect.v1.SubscriptionServiceGrpc;
import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Streams of events against a scripted service, each of whose streams breaks after one batch. */
@Timeout(60)
class SubscriptionEventsTest {
    private static final int ATTEMPTS = 3;

    /** The batches that were not acknowledged. The events of a batch are its letters. */
    private final Queue<String> batches = new ConcurrentLinkedQueue<>(List.of("ab", "c"));
    private final AtomicInteger streams = new AtomicInteger();
    private final CountDownLatch hanging = new CountDownLatch(1);
    private Server server;
    private Recollect recollect;
    private Subscriptions subscriptions;

    @BeforeEach
    void start() throws IOException {
        server = Grpc.newServerBuilderForPort(0, InsecureServerCredentials.create())
                .addService(new ScriptedSubscriptions())
                .build()
                .start();
        recollect = Recollect.builder()
                .address("127.0.0.1:" + server.getPort())
                .retry(new RetryPolicy(ATTEMPTS, Duration.ofMillis(20), Duration.ofMillis(100)))
                .build();
        subscriptions = recollect.subscriptions();
    }

    @AfterEach
    void stop() throws InterruptedException {
        recollect.close();
        server.shutdownNow().awaitTermination();
    }

    @Test
    void aLostConnectionIsMadeAgainAndEachBatchAcknowledged() {
        var ids = new ArrayList<String>();
        try (var events = subscriptions.events("log")) {
            events.forEach(event -> ids.add(event.getEventId()));
        }
        assertEquals(List.of("a", "b", "c"), ids);
        assertEquals(List.of(), List.copyOf(batches));
        assertEquals(3, streams.get());
    }

    @Test
    void aBatchThatWasNotFinishedComesAgain() {
        for (var repetition = 0; repetition < 2; repetition++) {
            try (var events = subscriptions.events("log")) {
                assertEquals("a", events.iterator().next().getEventId());
                assertEquals("b", events.iterator().next().getEventId());
            }
        }
        assertEquals(List.of("ab", "c"), List.copyOf(batches));
        try (var events = subscriptions.events("log")) {
            assertEquals("a", events.iterator().next().getEventId());
            assertEquals("b", events.iterator().next().getEventId());
            assertEquals("c", events.iterator().next().getEventId());
        }
        assertEquals(List.of("c"), List.copyOf(batches));
    }

    @Test
    void aStreamThatCannotSucceedIsAnErrorAndOneThatKeepsFailingToo() {
        try (var events = subscriptions.events("missing")) {
            var missing = assertThrows(RecollectException.class, events.iterator()::hasNext);
            assertEquals(Status.Code.NOT_FOUND, missing.code());
        }
        assertEquals(1, streams.get());
        try (var events = subscriptions.events("failing")) {
            var failing = assertThrows(RecollectException.class, events.iterator()::hasNext);
            assertEquals(Status.Code.UNAVAILABLE, failing.code());
        }
        assertEquals(1 + ATTEMPTS, streams.get());
    }

    @Test
    void aQuietStreamThatTheServerEndsIsOpenedAgainHoweverOften() {
        try (var events = subscriptions.events("quiet")) {
            assertFalse(events.iterator().hasNext());
        }
        assertEquals(ATTEMPTS + 2, streams.get());
    }

    @Test
    void aQuietStreamThatLastedIsNoFailure() {
        try (var events = subscriptions.events("lasting")) {
            assertFalse(events.iterator().hasNext());
        }
        assertEquals(2 * ATTEMPTS, streams.get());
    }

    @Test
    void theDeletionOfTheSubscriptionIsAnError() {
        try (var events = subscriptions.events("deleted")) {
            assertEquals("a", events.iterator().next().getEventId());
            assertEquals("b", events.iterator().next().getEventId());
            var deleted = assertThrows(RecollectException.class, events.iterator()::hasNext);
            assertEquals(Status.Code.NOT_FOUND, deleted.code());
        }
        assertEquals(List.of("c"), List.copyOf(batches));
        assertEquals(1, streams.get());
    }

    @Test
    void errorsOfAStreamSayWhatToDoAsThoseOfOtherCalls() throws InterruptedException {
        var address = "127.0.0.1:" + server.getPort();
        Supplier<String> expired = () -> {
            throw new IllegalStateException("expired");
        };
        try (var keyless = Recollect.builder().address(address).apiKey(expired).build()) {
            fails(keyless, Status.Code.UNAUTHENTICATED, "the API key: java.lang.IllegalStateException: expired");
        }
        server.shutdownNow().awaitTermination();
        fails(recollect, Status.Code.UNAVAILABLE, "No Recollect server answers at " + address);
        recollect.close();
        fails(recollect, Status.Code.FAILED_PRECONDITION, "this client is closed");
        assertEquals(0, streams.get());
    }

    private static void fails(Recollect recollect, Status.Code code, String said) {
        try (var events = recollect.subscriptions().events("log")) {
            var failed = assertThrows(RecollectException.class, events.iterator()::hasNext);
            assertEquals(code, failed.code());
            assertTrue(failed.getMessage().contains(said), failed.getMessage());
        }
    }

    @Test
    void closingEndsTheLoopOfAnotherThread() throws Exception {
        try (var events = subscriptions.events("hanging")) {
            var hasNext = CompletableFuture.supplyAsync(events.iterator()::hasNext);
            hanging.await();
            events.close();
            assertFalse(hasNext.get(30, TimeUnit.SECONDS));
            assertFalse(events.iterator().hasNext());
        }
        assertEquals(1, streams.get());
    }

    private final class ScriptedSubscriptions extends SubscriptionServiceGrpc.SubscriptionServiceImplBase {
        @Override
        public void streamEvents(StreamEventsRequest request, StreamObserver<StreamEventsResponse> answer) {
            var opened = streams.incrementAndGet();
            switch (request.getName()) {
                case "missing" -> answer.onError(Status.NOT_FOUND.asRuntimeException());
                case "failing" -> answer.onError(Status.UNAVAILABLE.asRuntimeException());
                case "quiet" -> {
                    if (opened <= ATTEMPTS + 1) {
                        answer.onError(Status.DEADLINE_EXCEEDED.asRuntimeException());
                    } else {
                        answer.onCompleted();
                    }
                }
                case "lasting" -> {
                    // Without the one that lasts, these are too many failures in a row.
                    if (opened == ATTEMPTS) {
                        CompletableFuture.delayedExecutor(1100, TimeUnit.MILLISECONDS)
                                .execute(() -> answer.onError(Status.UNAVAILABLE.asRuntimeException()));
                    } else if (opened < 2 * ATTEMPTS) {
                        answer.onError(Status.UNAVAILABLE.asRuntimeException());
                    } else {
                        answer.onCompleted();
                    }
                }
                case "deleted" -> sendBatch(answer, Status.NOT_FOUND);
                case "hanging" -> hanging.countDown();
                default -> sendBatch(answer, Status.UNAVAILABLE);
            }
        }

        private void sendBatch(StreamObserver<StreamEventsResponse> answer, Status end) {
            var batch = batches.peek();
            if (batch == null) {
                answer.onCompleted();
                return;
            }
            var response = StreamEventsResponse.newBuilder().setBatchId(batch);
            batch.chars().forEach(id ->
                    response.addEvents(SubscriptionEvent.newBuilder().setEventId(Character.toString(id))));
            answer.onNext(response.build());
            answer.onError(end.asRuntimeException());
        }

        @Override
        public void acknowledgeEvents(
                AcknowledgeEventsRequest request, StreamObserver<AcknowledgeEventsResponse> answer) {
            var removed = batches.remove(request.getBatchId());
            answer.onNext(AcknowledgeEventsResponse.newBuilder().setAcknowledged(removed).build());
            answer.onCompleted();
        }
    }
}
