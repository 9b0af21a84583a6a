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
import dev.recollect.v1.ExtractionStrategy;
import dev.recollect.v1.GetThreadRequest;
import dev.recollect.v1.Memory;
import dev.recollect.v1.MemoryFileChange;
import dev.recollect.v1.MemoryFileVersion;
import dev.recollect.v1.MemoryFilter;
import dev.recollect.v1.MemoryInput;
import dev.recollect.v1.MemoryKind;
import dev.recollect.v1.MemoryPolicy;
import dev.recollect.v1.Message;
import dev.recollect.v1.MessageFilter;
import dev.recollect.v1.PlanServiceGrpc;
import dev.recollect.v1.Subscription;
import dev.recollect.v1.Thread;
import dev.recollect.v1.ThreadServiceGrpc;
import dev.recollect.v1.TransactionAction;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

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
    void anAppDefinesKindsOfMemoriesAndWhatIsNeverKept() {
        var allergy = MemoryKind.newBuilder()
                .setName("allergy")
                .setDescription("A substance that the user cannot take.")
                .setJsonSchema("{\"required\": [\"substance\"]}");
        var settings = recollect.app(app);
        settings.setPolicy(MemoryPolicy.newBuilder().setTopK(8).build());
        settings.setPolicy(MemoryPolicy.newBuilder().addMemoryKinds(allergy).addNeverKeep("salary").build());
        var policy = settings.policy();
        assertEquals("allergy", policy.getPolicy().getMemoryKinds(0).getName());
        assertEquals(8, policy.getPolicy().getTopK());

        var nuts = MemoryInput.newBuilder().setText("Ada cannot have nuts.").setKind("allergy");
        var memories = memory.memories();
        var refused = assertThrows(RecollectException.class, () -> memories.remember(List.of(nuts.build())));
        assertEquals(Status.Code.INVALID_ARGUMENT, refused.code(), "no substance");
        memories.remember(List.of(nuts.setAttributes("{\"substance\": \"nuts\"}").build()));
        memories.remember("Ada has no nuts at home.");
        var filter = MemoryFilter.newBuilder().addKinds("allergy");
        var listed = memories.list(request -> request.setFilter(filter)).stream().toList();
        assertEquals(List.of("Ada cannot have nuts."), listed.stream().map(Memory::getText).toList());
        assertEquals(1, memories.search("nuts", request -> request.setFilter(filter)).size());

        var cleared = settings.setPolicy(MemoryPolicy.getDefaultInstance(), request -> {
            request.getUpdateMaskBuilder().addPaths("policy.never_keep");
            request.getPreconditionBuilder().setEtag(policy.getEtag());
        });
        assertEquals(0, cleared.getPolicy().getNeverKeepCount());
        assertEquals(1, cleared.getPolicy().getMemoryKindsCount());
        assertTrue(settings.deletePolicy());
        assertFalse(settings.deletePolicy());
    }

    @Test
    void aCallerWaitsForTheMemoriesOfWhatItAppended() {
        var discrete = ExtractionStrategy.EXTRACTION_STRATEGY_DISCRETE;
        recollect.app(app).setPolicy(MemoryPolicy.newBuilder().setExtraction(discrete).build());
        memory.append("I live in Bergen.", "How nice.");
        assertTrue(memory.extractMemories(Duration.ofSeconds(30)).getComplete());
        assertEquals(1, memory.memories().list().stream().count());
    }

    @Test
    void aMessageNamesTheUserWhoSaidIt() {
        memory.append("I prefer trains to planes.", "Noted.");
        memory.append(List.of(Messages.user("I'm allergic to nuts.", "bob"), Messages.assistant("Then no nuts.")));
        var said = memory.history().getMessagesList().stream().map(Message::getUserId).toList();
        assertEquals(List.of("", "", "bob", ""), said);
        var filter = MessageFilter.newBuilder().addUserIds("bob");
        var ofBob = memory.messages(request -> request.setFilter(filter)).stream().map(Messages::text).toList();
        assertEquals(List.of("I'm allergic to nuts."), ofBob);
        var refused = assertThrows(RecollectException.class, () -> Messages.user("Hello", ""));
        assertEquals("saidBy", refused.fields().get(0).field());
    }

    @Test
    @Timeout(60)
    void aSubscriptionDeliversChanges() {
        var subscriptions = recollect.subscriptions();
        var made = subscriptions.create(app, request -> request.setAppId(app)
                .addActions(TransactionAction.TRANSACTION_ACTION_APPEND_MESSAGES));
        assertTrue(made.getSubscription().getEnabled());
        assertEquals("", made.getSecret(), "no URL");
        memory.append("Hello", "Hi");
        memory.append("Again", "Yes");
        try (var events = subscriptions.events(app)) {
            var event = events.iterator().next();
            assertEquals("ada", event.getUserId());
            assertEquals(2, event.getItemCount());
        }
        assertTrue(subscriptions.list().stream().map(Subscription::getName).anyMatch(app::equals));
        assertFalse(subscriptions.update(Subscription.newBuilder().setName(app).build(), "enabled").getEnabled());
        assertFalse(subscriptions.get(app).getEnabled());
        var refused = assertThrows(RecollectException.class, () -> subscriptions.rotateSecret(app));
        assertEquals(Status.Code.INVALID_ARGUMENT, refused.code(), "no URL");
        assertTrue(subscriptions.delete(app));
        assertFalse(subscriptions.delete(app));
    }

    @Test
    void filesAreStoredChangedFoundAndRestored() {
        var files = recollect.files(app, "ada");
        var path = "/projects/garden.md";
        var first = files.put(path, "# Garden\n\n- Plant tulips.\n");
        assertTrue(first.getCreated());
        files.replace(path, "tulips", "roses");
        assertEquals(3, files.insert(path, 3, "- Order compost.").getFile().getVersion());
        assertEquals("# Garden\n\n- Plant roses.\n- Order compost.\n", files.read(path));
        assertEquals("- Plant roses.\n", files.read(path, request -> request.setFirstLine(3).setLastLine(3)));
        assertEquals("# Garden\n\n- Plant tulips.\n", files.read(path, request -> request.setVersion(1)));
        assertTrue(files.diff(path).contains("\n+- Order compost.\n"));
        assertTrue(files.diff(path, request -> request.setFromVersion(1)).contains("\n-- Plant tulips.\n"));
        assertEquals(2, files.view("/").getDirectory().getEntriesCount());
        assertEquals(path, files.search("compost").get(0).getFile().getPath());
        var changes = files.versions(path).stream().map(MemoryFileVersion::getChange).toList();
        assertEquals(
                List.of(
                        MemoryFileChange.MEMORY_FILE_CHANGE_INSERT,
                        MemoryFileChange.MEMORY_FILE_CHANGE_REPLACE,
                        MemoryFileChange.MEMORY_FILE_CHANGE_PUT),
                changes);

        var etag = first.getFile().getEtag();
        var changed = assertThrows(RecollectException.class, () ->
                files.put(path, "", request -> request.getPreconditionBuilder().setEtag(etag)));
        assertEquals("ETAG_CHANGED", changed.reason());
        var directory = assertThrows(RecollectException.class, () -> files.read("/projects"));
        assertEquals(Status.Code.INVALID_ARGUMENT, directory.code());

        assertEquals(1, files.rename("/projects", "/done"));
        assertEquals(1, files.delete("/done"));
        assertEquals(4, files.restore("/done/garden.md", request -> request.setVersion(1)).getVersion());
        files.delete("/", request -> request.setEraseVersions(true));
        assertThrows(RecollectException.class, () -> files.restore("/done/garden.md"));
    }

    @Test
    void commandsOfAnthropicsMemoryToolAreAnswered() {
        var files = recollect.files(app, "ada");
        var note = "\"path\": \"/memories/note.md\"";
        var created = "{\"command\": \"create\", " + note + ", \"file_text\": \"tea\\ntea\\n\"}";
        assertEquals("File created successfully at: /memories/note.md", files.handle(created));
        assertEquals("Error: File /memories/note.md already exists", files.handle(created));
        assertEquals(
                "Here's the content of /memories/note.md with line numbers:\n     1\ttea\n     2\ttea",
                files.handle("{\"command\": \"view\", " + note + "}"));
        var replace = "{\"command\": \"str_replace\", " + note + ", \"old_str\": \"%s\", \"new_str\": \"milk\"}";
        assertEquals(
                "No replacement was performed. Multiple occurrences of old_str `tea` in lines: 1, 2. Please ensure it "
                        + "is unique",
                files.handle(replace.formatted("tea")));
        assertEquals(
                "No replacement was performed, old_str `rum` did not appear verbatim in /memories/note.md.",
                files.handle(replace.formatted("rum")));
        var insert = "{\"command\": \"insert\", " + note + ", \"insert_line\": %d, \"insert_text\": \"rum\"}";
        assertEquals(
                "Error: Invalid `insert_line` parameter: 9. It should be within the range of lines of the file: [0, 2]",
                files.handle(insert.formatted(9)));
        assertEquals("The file /memories/note.md has been edited.", files.handle(insert.formatted(0)));
        assertEquals(
                "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
                        + "     1\tmilk\n     2\ttea\n     3\ttea",
                files.handle(replace.formatted("rum")));
        assertEquals(
                "Successfully renamed /memories/note.md to /memories/n.md",
                files.handle("{\"command\": \"rename\", \"old_path\": \"/memories/note.md\", "
                        + "\"new_path\": \"/memories/n.md\"}"));
        assertEquals(
                "The path /memories/note.md does not exist. Please provide a valid path.",
                files.handle("{\"command\": \"view\", " + note + "}"));
        assertEquals(
                "Error: The path /memories/note.md does not exist",
                files.handle("{\"command\": \"delete\", " + note + "}"));
        assertEquals(
                "Successfully deleted /memories/n.md",
                files.handle("{\"command\": \"delete\", \"path\": \"/memories/n.md\"}"));
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
