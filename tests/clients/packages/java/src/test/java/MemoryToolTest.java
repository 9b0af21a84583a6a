import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.Gson;
import com.google.protobuf.Any;
import com.google.rpc.Code;
import com.google.rpc.ErrorInfo;
import dev.recollect.Files;
import dev.recollect.Recollect;
import dev.recollect.RecollectException;
import dev.recollect.RetryPolicy;
import dev.recollect.v1.GetMemoryFileRequest;
import dev.recollect.v1.GetMemoryFileResponse;
import dev.recollect.v1.InsertIntoMemoryFileRequest;
import dev.recollect.v1.InsertIntoMemoryFileResponse;
import dev.recollect.v1.MemoryDirectory;
import dev.recollect.v1.MemoryDirectoryEntry;
import dev.recollect.v1.MemoryFile;
import dev.recollect.v1.MemoryFileContent;
import dev.recollect.v1.MemoryFileLines;
import dev.recollect.v1.MemoryFileServiceGrpc;
import dev.recollect.v1.PutMemoryFileRequest;
import dev.recollect.v1.PutMemoryFileResponse;
import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The commands of the memory tool, as a model may write them, against a scripted service. */
class MemoryToolTest {
    private static final String PATH = "/memories/a.md";
    private static final String INVALID = "Error: Invalid `view_range` parameter: ";

    private final List<String> created = Collections.synchronizedList(new ArrayList<>());
    private final List<String> inserted = Collections.synchronizedList(new ArrayList<>());
    private Server server;
    private Recollect recollect;
    private Files files;

    @BeforeEach
    void start() throws IOException {
        server = Grpc.newServerBuilderForPort(0, InsecureServerCredentials.create())
                .addService(new ScriptedFiles())
                .build()
                .start();
        recollect = Recollect.builder()
                .address("127.0.0.1:" + server.getPort())
                .retry(RetryPolicy.NEVER)
                .build();
        files = recollect.files("support", "ada");
    }

    @AfterEach
    void stop() throws InterruptedException {
        recollect.close();
        server.shutdownNow().awaitTermination();
    }

    private String handle(Map<String, ?> command) {
        return files.handle(new Gson().toJson(command));
    }

    private void isRefused(String said, String json) {
        var answer = files.handle(json.replace("PATH", "\"path\": \"" + PATH + "\""));
        assertTrue(answer.startsWith(said), json + ": " + answer);
    }

    @Test
    void wrongInputOfAModelIsAnAnswerThatSaysWhatIsWrong() {
        for (var other : List.of("null", "", "[]", "{\"command\": ", "{}")) {
            isRefused("Error: Unknown command: none. It must be one of: view, create, ", other);
        }
        isRefused("Error: Unknown command: erase.", "{\"command\": \"erase\"}");
        isRefused("Error: `path` is required and is a text", "{\"command\": \"view\"}");
        isRefused("Error: `path` is required", "{\"command\": \"view\", \"path\": 7}");
        isRefused("Error: `file_text` is required", "{\"command\": \"create\", PATH}");
        isRefused(
                "Error: `file_text` has half of a surrogate pair",
                "{\"command\": \"create\", PATH, \"file_text\": \"\\ud83d\"}");
        isRefused("Error: `old_str` is required", "{\"command\": \"str_replace\", PATH, \"new_str\": \"x\"}");
        isRefused(
                "No replacement was performed: old_str is empty",
                "{\"command\": \"str_replace\", PATH, \"old_str\": \"\", \"new_str\": \"x\"}");
        isRefused("Error: `new_str` is", "{\"command\": \"str_replace\", PATH, \"old_str\": \"x\", \"new_str\": 7}");
        isRefused("Error: `insert_text` is required", "{\"command\": \"insert\", PATH, \"insert_line\": 0}");
        isRefused("Error: `new_path` is required", "{\"command\": \"rename\", \"old_path\": \"/memories/a\"}");
        isRefused(
                "Error: Cannot rename",
                "{\"command\": \"rename\", \"old_path\": \"/memories\", \"new_path\": \"/memories/a\"}");
        isRefused(
                "Error: The destination /memories already exists",
                "{\"command\": \"rename\", \"old_path\": \"/memories/a\", \"new_path\": \"/memories/\"}");
        isRefused("Error: Cannot delete", "{\"command\": \"delete\", \"path\": \"/memories\"}");
        for (var line : List.of("null", "1.5", "\"x\"", "\"1\"", "-1", "2147483648", "1e40", "true")) {
            isRefused(
                    "Error: Invalid `insert_line` parameter: ",
                    "{\"command\": \"insert\", PATH, \"insert_text\": \"x\", \"insert_line\": " + line + "}");
        }
        for (var range : List.of(
                "[1]", "[\"one\", \"two\"]", "\"1-2\"", "[3, 2]", "[1, 1.5]", "[2, -2]", "[2147483648, -1]", "{}")) {
            isRefused(INVALID, "{\"command\": \"view\", PATH, \"view_range\": " + range + "}");
        }
    }

    @Test
    void aPathThatLeadsElsewhereIsRefusedAndOtherCharactersThanControlsAreNot() {
        for (var name : List.of("../a", "./a", "..\\a", "%2e%2e/x", "%2E./x", "%252e%252e/x", "a%2f..%2fb")) {
            var path = "/memories/" + name;
            assertEquals("Error: Path " + path + " would escape /memories directory", put(path));
        }
        for (var name : List.of("a\0b", "a\nb", "a\u0085b", "a%00b")) {
            var said = put("/memories/" + name);
            assertTrue(said.startsWith("Error: `path` must not have control characters"), said);
        }
        for (var path : List.of("/etc/passwd", "memories/a", "/memoriesx", "")) {
            assertEquals("Error: Path must start with /memories, got: " + path, put(path));
        }
        assertEquals(List.of(), created);
        var names =
                List.of("/a\u00a0b.md", "/\u3000.md", "/👩\u200d🔬.md", "/100%.md", "/%zz", "/%ff", "/..a", "/a/\u2028");
        for (var name : names) {
            assertEquals("File created successfully at: /memories" + name, put("/memories" + name));
        }
        assertEquals(names, created);
    }

    private String put(String path) {
        return handle(Map.of("command", "create", "path", path, "file_text", ""));
    }

    @Test
    void linesBeyondTheEndOfAFileAreAnError() {
        assertEquals(INVALID + "[10, 20]: the file has 3 lines", view("/a.md", 10, 20));
        assertEquals(INVALID + "[2, -1]: the file has 1 line", view("/one.md", 2, -1));
        var whole = "Here's the content of /memories/a.md with line numbers:\n     1\ta\n     2\tb\n     3\tc";
        assertEquals(whole, view("/a.md", 0, -1));
        assertEquals(whole, view("/a.md"));
        assertTrue(view("/empty.md").endsWith(":\n     1\t"));
    }

    private String view(String path, Integer... range) {
        var command = new TreeMap<String, Object>(Map.of("command", "view", "path", "/memories" + path));
        if (range.length > 0) {
            command.put("view_range", range);
        }
        return handle(command);
    }

    @Test
    void aListingLeavesOutHiddenItemsAndSaysWhenThereIsMore() {
        var expected = "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and "
                + "node_modules:\n2.2K\t/memories\n1.5K\t/memories/a.md\n0B\t/memories/b/\n"
                + "There are more files; view one of the directories.";
        assertEquals(expected, view("/"));
    }

    @Test
    void anEmptyTextIsInsertedAsAnEmptyLine() {
        handle(Map.of("command", "insert", "path", PATH, "insert_line", 0, "insert_text", ""));
        handle(Map.of("command", "insert", "path", PATH, "insert_line", 2, "insert_text", "x"));
        assertEquals(List.of("0:\n", "2:x"), inserted);
    }

    @Test
    void aModelReadsWhatItCanHelpAndTheRestIsThrown() {
        assertEquals(
                "Error: The memory does not take this: the storage is full", put("/memories/QUOTA_EXCEEDED"));
        var failed = assertThrows(RecollectException.class, () -> put("/memories/OVERLOADED"));
        assertEquals("OVERLOADED", failed.reason());
    }

    private final class ScriptedFiles extends MemoryFileServiceGrpc.MemoryFileServiceImplBase {
        @Override
        public void getMemoryFile(GetMemoryFileRequest request, StreamObserver<GetMemoryFileResponse> answer) {
            var response = GetMemoryFileResponse.newBuilder();
            if (request.getPath().equals("/")) {
                response.setDirectory(directory());
            } else {
                response.setFile(file(request));
            }
            answer.onNext(response.build());
            answer.onCompleted();
        }

        private static MemoryDirectory directory() {
            var directory = MemoryDirectory.newBuilder().setPath("/").setSizeBytes(2304).setTruncated(true);
            for (var path : List.of("/a.md", "/.hidden", "/b", "/node_modules/c")) {
                directory.addEntries(MemoryDirectoryEntry.newBuilder()
                        .setPath(path)
                        .setSizeBytes(path.equals("/a.md") ? 1536 : 0)
                        .setIsDirectory(path.equals("/b")));
            }
            return directory.build();
        }

        private static MemoryFileContent file(GetMemoryFileRequest request) {
            var counts = Map.of("/a.md", 3, "/one.md", 1, "/empty.md", 0);
            var first = request.hasFirstLine() ? request.getFirstLine() : 1;
            var lines = List.of("a\n", "b\n", "c\n").subList(0, counts.get(request.getPath()));
            var shown = String.join("", lines.subList(Math.min(first - 1, lines.size()), lines.size()));
            return MemoryFileContent.newBuilder()
                    .setFile(MemoryFile.newBuilder().setLineCount(lines.size()))
                    .setLines(MemoryFileLines.newBuilder().setFirstLine(first).setText(shown))
                    .build();
        }

        @Override
        public void putMemoryFile(PutMemoryFileRequest request, StreamObserver<PutMemoryFileResponse> answer) {
            assertTrue(request.getPrecondition().hasAbsent());
            var reason = request.getPath().substring(1);
            if (reason.matches("[A-Z_]+")) {
                var info = ErrorInfo.newBuilder().setReason(reason).setDomain("recollect.dev");
                answer.onError(StatusProto.toStatusRuntimeException(com.google.rpc.Status.newBuilder()
                        .setCode(Code.RESOURCE_EXHAUSTED_VALUE)
                        .setMessage("the storage is full")
                        .addDetails(Any.pack(info.build()))
                        .build()));
                return;
            }
            created.add(request.getPath());
            answer.onNext(PutMemoryFileResponse.getDefaultInstance());
            answer.onCompleted();
        }

        @Override
        public void insertIntoMemoryFile(
                InsertIntoMemoryFileRequest request, StreamObserver<InsertIntoMemoryFileResponse> answer) {
            inserted.add(request.getLine() + ":" + request.getText());
            answer.onNext(InsertIntoMemoryFileResponse.getDefaultInstance());
            answer.onCompleted();
        }
    }
}
