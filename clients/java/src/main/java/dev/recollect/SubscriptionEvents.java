package dev.recollect;

import dev.recollect.v1.AcknowledgeEventsRequest;
import dev.recollect.v1.StreamEventsRequest;
import dev.recollect.v1.StreamEventsResponse;
import dev.recollect.v1.SubscriptionEvent;
import dev.recollect.v1.SubscriptionServiceGrpc;
import io.grpc.ClientCall;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import java.time.Duration;
import java.util.Collections;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * The events of a subscription, as they come. A batch is acknowledged when the event after it is
 * asked for: one that was not finished comes again, with the same {@code event_id}. A lost
 * connection is made again; other errors are thrown, such as NOT_FOUND when the subscription has been
 * deleted. {@link Subscriptions#get} counts the events that were lost ({@code dropped_count}).
 *
 * <p>Close it: until then other streams of the subscription wait. One thread reads at a time; any
 * thread may close it, which ends the iteration.
 */
public final class SubscriptionEvents implements Iterable<SubscriptionEvent>, AutoCloseable {
    private final Calls calls;
    private final Reliable reliable;
    private final String name;
    private final Iterator<SubscriptionEvent> reader = new Reader();
    private final CountDownLatch closed = new CountDownLatch(1);
    // Guarded by this.
    private ClientCall<StreamEventsRequest, StreamEventsResponse> stream;

    SubscriptionEvents(Calls calls, Reliable reliable, String name) {
        this.calls = calls;
        this.reliable = reliable;
        this.name = name;
    }

    /** The events. There is one iterator: another loop goes on where the one before it ended. */
    @Override
    public Iterator<SubscriptionEvent> iterator() {
        return reader;
    }

    /** Ends the stream. */
    @Override
    public synchronized void close() {
        closed.countDown();
        if (stream != null) {
            stream.cancel("closed by the caller", null);
        }
    }

    private boolean isClosed() {
        return closed.getCount() == 0;
    }

    private synchronized Iterator<StreamEventsResponse> open() {
        if (isClosed()) {
            return Collections.emptyIterator();
        }
        stream = calls.channel().newCall(SubscriptionServiceGrpc.getStreamEventsMethod(), calls.options());
        var request = StreamEventsRequest.newBuilder().setName(name).build();
        return ClientCalls.blockingServerStreamingCall(stream, request);
    }

    private final class Reader implements Iterator<SubscriptionEvent> {
        /** Those of the stream; null: it must be opened. */
        private Iterator<StreamEventsResponse> batches;
        private Iterator<SubscriptionEvent> batch = Collections.emptyIterator();
        /** Of the batch, until it is acknowledged. */
        private String batchId = "";
        /** When the stream was opened, in nanoseconds. */
        private long opened;
        /** How many streams in a row failed. */
        private int failures;
        private boolean ended;

        @Override
        public boolean hasNext() {
            while (!batch.hasNext() && !ended && !isClosed()) {
                acknowledge();
                readBatch();
            }
            return batch.hasNext() && !isClosed();
        }

        @Override
        public SubscriptionEvent next() {
            if (!hasNext()) {
                throw new NoSuchElementException();
            }
            return batch.next();
        }

        private void acknowledge() {
            if (batchId.isEmpty()) {
                return;
            }
            var request = AcknowledgeEventsRequest.newBuilder().setName(name).setBatchId(batchId);
            Calls.await(calls.start(SubscriptionServiceGrpc.getAcknowledgeEventsMethod(), request.build()));
            batchId = "";
        }

        private void readBatch() {
            try {
                if (batches == null) {
                    opened = System.nanoTime();
                    batches = open();
                }
                ended = !batches.hasNext();
                if (!ended) {
                    var response = batches.next();
                    batchId = response.getBatchId();
                    batch = response.getEventsList().iterator();
                    failures = 0;
                }
            } catch (StatusRuntimeException failed) {
                batches = null;
                if (!isClosed()) {
                    var error = RecollectException.of(failed);
                    var lasted = Duration.ofNanos(System.nanoTime() - opened);
                    failures = reliable.hadWorked(error, lasted) ? 0 : failures + 1;
                    pause(reliable.delay(error, failures).orElseThrow(() -> error));
                }
            }
        }

        private void pause(Duration delay) {
            try {
                if (!closed.await(delay.toNanos(), TimeUnit.NANOSECONDS)) {
                    reliable.connectAgain();
                }
            } catch (InterruptedException interrupted) {
                throw Calls.interrupted(interrupted);
            }
        }
    }
}
