package dev.recollect;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import com.google.protobuf.Empty;
import dev.recollect.v1.GetMemoryFileRequest;
import dev.recollect.v1.MemoryDirectory;
import dev.recollect.v1.MemoryFileLines;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * A command of Anthropic's memory tool ({@code memory_20250818}) as a call of {@link Files}, and the
 * answer that the model reads, as Anthropic describes it:
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/memory-tool
 */
final class MemoryTool {
    private static final String ROOT = "/memories";
    private static final String HINT = "Please provide a valid path.";
    /** Other errors whose messages say what the model can do. */
    private static final Set<String> HELPED =
            Set.of("NOT_A_MEMORY_FILE", "MEMORY_FILES_FULL", "TEXT_REFUSED", "INVALID_FIELD", "QUOTA_EXCEEDED");
    private static final Pattern ENCODED = Pattern.compile("(?:%[0-9a-fA-F]{2})+");

    private final Files files;
    private final JsonObject command;

    MemoryTool(Files files, String command) {
        this.files = files;
        this.command = object(command);
    }

    /** A command that is refused: what the model reads. */
    private static final class Refused extends RuntimeException {
        private static final long serialVersionUID = 1;

        Refused(String said) {
            super(said);
        }
    }

    /** Carries out the command. What the model cannot help is thrown. */
    String answer() {
        try {
            return carryOut();
        } catch (Refused refused) {
            return refused.getMessage();
        } catch (RecollectException failed) {
            return refusal(failed).orElseThrow(() -> failed);
        }
    }

    private String carryOut() {
        return switch (shown("command")) {
            case "view" -> view();
            case "create" -> create();
            case "str_replace" -> replace();
            case "insert" -> insert();
            case "delete" -> delete();
            case "rename" -> rename();
            default -> throw new Refused("Error: Unknown command: " + shown("command")
                    + ". It must be one of: view, create, str_replace, insert, delete, rename");
        };
    }

    private String view() {
        var path = path("path");
        var shown = text("path").replaceFirst("/+\\z", "");
        var found = files.view(path, this::selectLines);
        if (found.hasDirectory()) {
            return listing(shown, found.getDirectory());
        }
        var lines = found.getFile().getLines();
        if (lines.getText().isEmpty() && lines.getFirstLine() > 1) {
            var count = found.getFile().getFile().getLineCount();
            throw invalid("view_range", ": the file has " + count + (count == 1 ? " line" : " lines"));
        }
        return "Here's the content of " + shown + " with line numbers:\n" + numbered(lines);
    }

    private String create() {
        var path = path("path");
        var absent = Empty.getDefaultInstance();
        files.put(path, text("file_text"), request -> request.getPreconditionBuilder().setAbsent(absent));
        return "File created successfully at: " + text("path");
    }

    private String replace() {
        var path = path("path");
        var oldText = text("old_str");
        var newText = value("new_str").isJsonNull() ? "" : text("new_str");
        if (oldText.isEmpty()) {
            throw new Refused("No replacement was performed: old_str is empty.");
        }
        return "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
                + numbered(files.replace(path, oldText, newText).getLines());
    }

    private String insert() {
        var path = path("path");
        var text = text("insert_text");
        var line = whole(value("insert_line")).orElse(-1);
        if (line < 0 || line > Integer.MAX_VALUE) {
            throw invalid("insert_line", ". It takes the number of a line of the file, or 0");
        }
        // An empty text is an empty line, as the SDK's own tool inserts it.
        files.insert(path, (int) line, text.isEmpty() ? "\n" : text);
        return "The file " + text("path") + " has been edited.";
    }

    private String delete() {
        var path = path("path");
        if (path.equals("/")) {
            throw new Refused("Error: Cannot delete the /memories directory itself");
        }
        files.delete(path);
        return "Successfully deleted " + text("path");
    }

    private String rename() {
        var path = path("old_path");
        var newPath = path("new_path");
        if (path.equals("/")) {
            throw new Refused("Error: Cannot rename the /memories directory itself");
        }
        if (newPath.equals("/")) {
            throw new Refused("Error: The destination /memories already exists");
        }
        files.rename(path, newPath);
        return "Successfully renamed " + text("old_path") + " to " + text("new_path");
    }

    // What a command has: nothing checked before what a model wrote.

    /** The fields of a command; none if it is no JSON object. */
    private static JsonObject object(String command) {
        try {
            return JsonParser.parseString(command).getAsJsonObject();
        } catch (JsonParseException | IllegalStateException other) {
            return new JsonObject();
        }
    }

    private JsonElement value(String name) {
        return command.has(name) ? command.get(name) : JsonNull.INSTANCE;
    }

    private String text(String name) {
        if (!isText(value(name))) {
            throw new Refused("Error: `" + name + "` is required and is a text");
        }
        var text = value(name).getAsString();
        if (!StandardCharsets.UTF_8.newEncoder().canEncode(text)) {
            throw new Refused("Error: `" + name + "` has half of a surrogate pair");
        }
        return text;
    }

    /** The path of the API for one of the command. A path that leads elsewhere is refused. */
    private String path(String name) {
        var shown = text(name);
        var plain = shown;
        // Also what another program would decode to the names of other directories.
        for (var times = 0; times < 3; times++) {
            if (plain.chars().anyMatch(Character::isISOControl)) {
                throw new Refused(
                        "Error: `" + name + "` must not have control characters, percent-encoded ones included");
            }
            var names = Arrays.asList(plain.split("[/\\\\]"));
            if (names.contains(".") || names.contains("..")) {
                throw new Refused("Error: Path " + shown + " would escape /memories directory");
            }
            plain = decoded(plain);
        }
        if (!shown.equals(ROOT) && !shown.startsWith(ROOT + "/")) {
            throw new Refused("Error: Path must start with /memories, got: " + shown);
        }
        var path = shown.substring(ROOT.length()).replaceFirst("/\\z", "");
        return path.isEmpty() ? "/" : path;
    }

    /** A text without percent-encoding; what encodes nothing stays. */
    private static String decoded(String encoded) {
        return ENCODED.matcher(encoded).replaceAll(found -> {
            var bytes = HexFormat.of().parseHex(found.group().replace("%", ""));
            return Matcher.quoteReplacement(new String(bytes, StandardCharsets.UTF_8));
        });
    }

    /** Sets the lines to show. */
    private void selectLines(GetMemoryFileRequest.Builder request) {
        var value = value("view_range");
        if (value.isJsonNull()) {
            return;
        }
        var isPair = value instanceof JsonArray two && two.size() == 2;
        var from = isPair ? whole(value.getAsJsonArray().get(0)) : OptionalLong.empty();
        var to = isPair ? whole(value.getAsJsonArray().get(1)) : OptionalLong.empty();
        var last = to.orElse(0) == -1 ? Integer.MAX_VALUE : to.orElse(0);
        var first = Math.max(from.orElse(Long.MAX_VALUE), 1);
        if (first > last || last > Integer.MAX_VALUE) {
            throw invalid(
                    "view_range",
                    ". It takes the numbers of the first and the last line, and -1 for the end: [first, last]");
        }
        request.setFirstLine((int) first).setLastLine((int) last);
    }

    private static boolean isText(JsonElement value) {
        return value instanceof JsonPrimitive primitive && primitive.isString();
    }

    private static OptionalLong whole(JsonElement value) {
        var isWhole = value instanceof JsonPrimitive primitive
                && primitive.isNumber()
                && primitive.getAsString().matches("-?[0-9]{1,18}");
        return isWhole ? OptionalLong.of(value.getAsLong()) : OptionalLong.empty();
    }

    private Refused invalid(String name, String problem) {
        return new Refused("Error: Invalid `" + name + "` parameter: " + shown(name) + problem);
    }

    /** A value of the command, for its error. */
    private String shown(String name) {
        var value = value(name);
        if (value.isJsonNull()) {
            return "none";
        }
        return isText(value) ? value.getAsString() : value.toString().replace(",", ", ");
    }

    // What the model reads.

    /** What an error of the server says to the model; empty: it is none of a command. */
    private Optional<String> refusal(RecollectException error) {
        var name = shown("command");
        var path = shown(name.equals("rename") ? "old_path" : "path");
        var isEdit = name.equals("str_replace") || name.equals("insert");
        return switch (error.reason()) {
            case "MEMORY_FILE_NOT_FOUND" -> Optional.of(missing(name, path));
            // A directory is no file that could be edited.
            case "NOT_A_MEMORY_FILE" -> isEdit ? Optional.of(missing(name, path)) : helped(error);
            case "ETAG_CHANGED" -> Optional.of("Error: File " + path + " already exists");
            case "MEMORY_FILE_ALREADY_EXISTS" -> Optional.of(
                    "Error: The destination " + shown("new_path") + " already exists");
            case "TEXT_NOT_FOUND" -> Optional.of("No replacement was performed, old_str `" + shown("old_str")
                    + "` did not appear verbatim in " + path + ".");
            case "TEXT_NOT_UNIQUE" -> Optional.of("No replacement was performed. Multiple occurrences of old_str `"
                    + shown("old_str") + "` in lines: "
                    + error.metadata().getOrDefault("lines", "").replace(",", ", ") + ". Please ensure it is unique");
            default -> helped(error);
        };
    }

    private static String missing(String name, String path) {
        var said = "The path " + path + " does not exist";
        return switch (name) {
            case "view" -> said + ". " + HINT;
            case "str_replace" -> "Error: " + said + ". " + HINT;
            default -> "Error: " + said;
        };
    }

    private Optional<String> helped(RecollectException error) {
        var count = error.metadata().get("line_count");
        if (count != null) {
            var range = ". It should be within the range of lines of the file: [0, " + count + "]";
            return Optional.of(invalid("insert_line", range).getMessage());
        }
        return HELPED.contains(error.reason())
                ? Optional.of("Error: The memory does not take this: "
                        + error.toStatusException().getStatus().getDescription())
                : Optional.empty();
    }

    /** Lines with their numbers, which are six characters wide. */
    private static String numbered(MemoryFileLines lines) {
        var first = Math.max(lines.getFirstLine(), 1);
        // What follows the last line break is no line.
        var texts = lines.getText().replaceFirst("\n\\z", "").split("\n", -1);
        return IntStream.range(0, texts.length)
                .mapToObj(at -> String.format(Locale.ROOT, "%6d\t%s", first + at, texts[at]))
                .collect(Collectors.joining("\n"));
    }

    /** The files and directories in a directory, of two levels, with their sizes. */
    private static String listing(String shown, MemoryDirectory directory) {
        var outer = directory.getPath().equals("/") ? 0 : directory.getPath().length();
        var listing = new StringBuilder("Here're the files and directories up to 2 levels deep in ")
                .append(shown)
                .append(", excluding hidden items and node_modules:\n")
                .append(size(directory.getSizeBytes()) + "\t" + shown);
        for (var entry : directory.getEntriesList()) {
            var names = Arrays.stream(entry.getPath().substring(outer).split("/"));
            if (names.noneMatch(name -> name.startsWith(".") || name.equals("node_modules"))) {
                listing.append("\n" + size(entry.getSizeBytes()) + "\t" + ROOT + entry.getPath());
                listing.append(entry.getIsDirectory() ? "/" : "");
            }
        }
        if (directory.getTruncated()) {
            listing.append("\nThere are more files; view one of the directories.");
        }
        return listing.toString();
    }

    /** A number of bytes as people read it, such as 5.5K. */
    private static String size(long bytes) {
        var amount = (double) bytes;
        var unit = 0;
        while (amount >= 1024 && unit < 3) {
            amount /= 1024;
            unit++;
        }
        var digits = amount == Math.rint(amount) ? 0 : 1;
        return new BigDecimal(amount).setScale(digits, RoundingMode.HALF_EVEN) + "BKMG".substring(unit, unit + 1);
    }
}
