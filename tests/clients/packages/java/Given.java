// What the blocks of the README of clients/java take for granted; tests/clients/readme makes a
// subclass of them.

import com.sun.net.httpserver.HttpExchange;
import dev.recollect.Recollect;
import dev.recollect.Session;
import java.util.Optional;
import java.util.UUID;

class Given implements AutoCloseable {
    final String address = Optional.ofNullable(System.getenv("RECOLLECT_ADDR")).orElse("127.0.0.1:50051");
    final String key = System.getenv("RECOLLECT_API_KEY");
    final String app = "readme-" + UUID.randomUUID();
    final Recollect recollect = Recollect.create();
    final Session memory = recollect.session(app, "ada", "1");
    final String question = "What is my dog called?";
    final String answer = "Your dog is called Pixel.";
    final String questionJson = "{\"role\": \"user\", \"content\": \"What is my dog called?\"}";
    final String responseJson =
            "{\"type\": \"message\", \"role\": \"assistant\", \"content\": [{\"type\": \"text\", \"text\": \"Pixel.\"}]}";
    /** A request of a webhook. */
    HttpExchange exchange;
    final String secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    /** A thread to delete. */
    final String threadId = recollect.session(app, "ada", "2").append(question, answer).getThreadId();
    /** A message that is not the head. */
    private final String first = memory.append(question, answer).getMessages(0).getMessageId();
    String head = first;

    /** Fails unless a block has learned the head. */
    @Override
    public void close() {
        recollect.close();
        if (head.equals(first)) {
            throw new IllegalStateException("the append with another head was not refused");
        }
    }
}
