import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.recollect.Format;
import dev.recollect.Messages;
import dev.recollect.Recollect;
import dev.recollect.RecollectException;
import dev.recollect.Session;
import dev.recollect.v1.AppendAttemptRequest;
import dev.recollect.v1.Attempt;
import dev.recollect.v1.GetThreadRequest;
import dev.recollect.v1.Memory;
import dev.recollect.v1.MemoryFilter;
import dev.recollect.v1.MemoryInput;
import dev.recollect.v1.Message;
import dev.recollect.v1.MessageFilter;
import dev.recollect.v1.PlanServiceGrpc;
import dev.recollect.v1.Thread;
import dev.recollect.v1.ThreadServiceGrpc;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The package against a real server: RECOLLECT_ADDR and RECOLLECT_API_KEY name it. */
class ServerTest {
    private static Recollect recollect;

    private final String app = "java-" + UUID.randomUUID();
    private final Session memory = recollect.session(app, "ada", "42");

    @BeforeAll
    static void connect() {
        recollect = Recollect.create();
    }

    @AfterAll
    static void close() {
        recollect.close();
    }

    @Test
    void aChatTurnIsAContextAndAnAppend() {
        assertEquals(0, memory.messages().stream().count(), "a session without a thread");
        assertTrue(memory.append("My dog is called Pixel.", "A fine name!").getThreadCreated());

        var question = "What is my dog called?";
        var context = memory.context(question, Format.OPENAI, request -> request.setSystemPrompt("You help."));
        List<Map<String, Object>> expected = List.of(
                Map.of("role", "system", "content", "You help."),
                Map.of("role", "user", "content", "My dog is called Pixel."),
                Map.of("role", "assistant", "content", "A fine name!"),
                Map.of("role", "user", "content", question));
        assertEquals(expected, context.messages());
        assertTrue(context.totalTokens() > 0);

        memory.append(question, "Pixel.");
        var history = memory.history(request -> request.setMaxMessages(2));
        var texts = history.getMessagesList().stream().map(Messages::text).toList();
        assertEquals(List.of(question, "Pixel."), texts);
    }

    @Test
    void contextsHaveTheFieldsOfEachFormat() {
        for (var format : List.of(Format.OPENAI_RESPONSES, Format.ANTHROPIC, Format.GEMINI)) {
            var context = memory.context("Hello?", format, request -> request.setSystemPrompt("You help."));
            var system = format == Format.GEMINI
                    ? (Object) Map.of("parts", List.of(Map.of("text", "You help.")))
                    : "You help.";
            assertEquals(Optional.of(system), context.system(), format.name());
            assertEquals(1, context.messages().size(), format.name());
        }
        var text = memory.context("Hello?", Format.TEXT);
        assertTrue(text.body().contains("Hello?"));
        assertThrows(IllegalStateException.class, text::fields);
    }

    @Test
    void messagesOfProvidersAreStoredAsTheyAre() {
        var id = "chatcmpl-" + UUID.randomUUID();
        var completion = """
                {"id": "%s", "choices": [{"message": {"role": "assistant", "content": null, "tool_calls": [
                  {"id": "call_1", "type": "function",
                   "function": {"name": "weather", "arguments": "{\\"city\\": \\"Oslo\\"}"}}]}}]}""".formatted(id);
        var stored = memory.append(
                Format.OPENAI,
                "{\"role\": \"user\", \"content\": \"How warm is it?\"}",
                completion,
                "{\"role\": \"tool\", \"tool_call_id\": \"call_1\", \"content\": \"12 degrees\"}");
        assertEquals(id, stored.getMessages(1).getExternalId());
        var messages = memory.context("Thanks.", Format.OPENAI).messages();
        var call = (Map<?, ?>) ((List<?>) messages.get(1).get("tool_calls")).get(0);
        assertEquals("{\"city\": \"Oslo\"}", ((Map<?, ?>) call.get("function")).get("arguments"));
    }

    @Test
    void messagesAreReadInPagesAndRecalled() {
        memory.append(List.of(
                Messages.user("The spare key is under the blue flower pot."),
                Messages.assistant("Noted."),
                Messages.user("And the red bicycle is in the cellar.")));
        var seqs = memory.messages(request -> request.setPageSize(1)).stream()
                .map(Message::getSeq)
                .toList();
        assertEquals(List.of(1L, 2L, 3L), seqs);
        var newest = memory.messages(request -> request.setOrderBy("seq desc").setPageSize(1))
                .iterator()
                .next();
        assertEquals(3L, newest.getSeq());
        var recalled = memory.recall("Where is the spare key?", request -> request.setMaxTokens(1_000));
        assertTrue(recalled.getMessagesList().stream()
                .anyMatch(message -> Messages.text(message.getMessage()).contains("flower pot")));
        var found = memory.search("spare key", request -> request.setTopK(1));
        assertTrue(Messages.text(found.getMatches(0).getMessage()).contains("flower pot"));
    }

    @Test
    void metadataKeepsTheDigitsOfItsNumbers() {
        var orders = List.of("{\"order\": 1234567890123456788}", "{\"order\": 1234567890123456789}");
        for (var metadata : orders) {
            var message = Messages.user("Where is it?").toBuilder().setMetadata(metadata);
            memory.append(request -> request.addMessages(message));
        }
        var filter = MessageFilter.newBuilder().setMetadata(orders.get(1));
        var found = memory.messages(request -> request.setFilter(filter)).stream().toList();
        assertEquals(List.of(2L), found.stream().map(Message::getSeq).toList());
        assertTrue(found.get(0).getMetadata().contains("1234567890123456789"));
    }

    @Test
    void memoriesAreRememberedFoundListedAndForgotten() {
        var memories = memory.memories();
        var added = memories.remember("Ada lives in Oslo.", "Ada likes tea.");
        assertTrue(added.get(0).getCreated());
        memories.remember(List.of(MemoryInput.newBuilder()
                .setText("Ada plays chess.")
                .addTopics("games")
                .build()));
        assertFalse(memories.remember("Ada lives in Oslo.").get(0).getCreated(), "known");
        var found = memories.search("Where does Ada live?", request -> request.setTopK(1));
        assertEquals("Ada lives in Oslo.", found.get(0).getMemory().getText());
        var games = memories.list(request -> request.setFilter(MemoryFilter.newBuilder().addTopics("games")));
        assertEquals(List.of("Ada plays chess."), games.stream().map(Memory::getText).toList());
        assertEquals(3, memories.list(request -> request.setPageSize(1)).stream().count());
        assertEquals(
                "games:\n- Ada plays chess.\n\n- Ada lives in Oslo.\n- Ada likes tea.",
                memories.profile().getText());
        assertEquals(3, memories.profile(request -> request.setMaxTokens(1)).getOmittedCount());
        assertTrue(memories.forget(added.get(0).getMemory().getMemoryId()));
        assertFalse(memories.forget(added.get(0).getMemory().getMemoryId()));
    }

    @Test
    void threadsAreListedAndDeleted() {
        for (var session : List.of("1", "2", "3")) {
            recollect.session(app, "ada", session).append(List.of(Messages.user("Hello")));
        }
        var threads = recollect.threads().list(app, "ada").stream().toList();
        var keys = threads.stream().map(Thread::getSessionKey).toList();
        assertEquals(List.of("3", "2", "1"), keys);
        for (var deleted : List.of(true, false)) {
            assertEquals(deleted, recollect.threads().delete(threads.get(0).getThreadId()));
            assertEquals(deleted, recollect.session(app, "ada", "2").delete());
        }
        assertEquals(1, recollect.thread(threads.get(2).getThreadId()).messages().stream().count());
        assertEquals(1, recollect.threads().list(app).stream().count());
    }

    @Test
    void callsNeedNotWait() throws Exception {
        var stored = memory.appendAsync(request -> request.addMessages(Messages.user("My dog is called Pixel.")))
                .thenCompose(appended -> memory.contextAsync("What is my dog called?", Format.OPENAI, request -> {}));
        assertEquals(2, stored.get(30, TimeUnit.SECONDS).messages().size());
    }

    @Test
    void generatedServicesAreReachable() {
        memory.append(List.of(Messages.user("Hello")));
        var logged = recollect.stub(PlanServiceGrpc::newBlockingStub)
                .appendAttempt(AppendAttemptRequest.newBuilder()
                        .setThread(memory.ref())
                        .setAttempt(Attempt.newBuilder().setTask("search").setAction("looked"))
                        .build());
        assertEquals("search", logged.getAttempt().getTask());
        var threads = recollect.stub(ThreadServiceGrpc::newBlockingStub);
        var thread = recollect.thread(UUID.randomUUID().toString()).ref();
        var unknown = GetThreadRequest.newBuilder().setThread(thread).build();
        var failed = assertThrows(StatusRuntimeException.class, () -> threads.getThread(unknown));
        assertEquals("THREAD_NOT_FOUND", RecollectException.of(failed).reason());
    }

    @Test
    void errorsAreTypedAndReadable() {
        var invalid = assertThrows(RecollectException.class, () -> memory.append("a\0b", "c"));
        assertEquals(Status.Code.INVALID_ARGUMENT, invalid.code());
        assertEquals("INVALID_FIELD", invalid.reason());
        assertEquals("messages[0].parts[0].text", invalid.fields().get(0).field());
        assertTrue(invalid.getMessage().startsWith("INVALID_ARGUMENT (INVALID_FIELD): "), invalid.getMessage());
        assertEquals(Optional.empty(), invalid.retryAfter());

        memory.append("Hello", "Hello");
        var moved = assertThrows(RecollectException.class, () -> memory.append(request ->
                request.setExpectedHead("").addMessages(Messages.user("Hello"))));
        assertEquals("HEAD_MOVED", moved.reason());
        assertNotNull(moved.metadata().get("head"));
        var missing = assertThrows(
                RecollectException.class, () -> recollect.thread(UUID.randomUUID().toString()).history());
        assertEquals("THREAD_NOT_FOUND", missing.reason());
    }

    @Test
    void aRequestIdMakesARepetitionSafe() {
        var id = UUID.randomUUID().toString();
        for (var replayed : List.of(false, true)) {
            var stored = memory.append(request -> request.setRequestId(id).addMessages(Messages.user("Hello")));
            assertEquals(replayed, stored.getReplayed());
        }
        assertEquals(1, memory.messages().stream().count());
    }
}
