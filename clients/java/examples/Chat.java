import com.google.gson.Gson;
import com.google.gson.JsonObject;
import dev.recollect.Format;
import dev.recollect.Messages;
import dev.recollect.Recollect;
import dev.recollect.Session;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;

/**
 * A chat in the terminal that remembers: each line of standard input is a message.
 *
 * <p>Usage: Chat [APP [USER [SESSION]]]
 *
 * <p>With OPENAI_API_KEY or OPENAI_BASE_URL a model answers, by any API like OpenAI's;
 * OPENAI_MODEL names it. Without them the program shows what the model would be sent.
 */
public final class Chat {
    private static final String SYSTEM = "You are a friendly assistant. Use what you know about the user.";
    private static final Gson GSON = new Gson();
    private static final HttpClient HTTP =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    private Chat() {}

    public static void main(String[] arguments) throws IOException, InterruptedException {
        try (var recollect = Recollect.create()) {
            var memory = recollect.session(
                    argument(arguments, 0, "chat"),
                    argument(arguments, 1, "ada"),
                    argument(arguments, 2, "chat"));
            var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            for (var line = lines.readLine(); line != null; line = lines.readLine()) {
                if (!line.isBlank()) {
                    turn(memory, line.strip());
                }
            }
        }
    }

    private static void turn(Session memory, String question) throws IOException, InterruptedException {
        var context = memory.context(question, Format.OPENAI, request -> request.setSystemPrompt(SYSTEM));
        if (setting("OPENAI_BASE_URL", "").isEmpty() && setting("OPENAI_API_KEY", "").isEmpty()) {
            System.out.println("The model would be sent " + context.totalTokens() + " tokens:");
            for (var message : context.messages()) {
                System.out.println("  " + message.get("role") + ": " + message.get("content"));
            }
            memory.append(List.of(Messages.user(question)));
            return;
        }
        var answer = askModel(context.messages());
        System.out.println(answer);
        memory.append(question, answer);
    }

    private static String askModel(List<Map<String, Object>> messages) throws IOException, InterruptedException {
        var url = setting("OPENAI_BASE_URL", "https://api.openai.com/v1") + "/chat/completions";
        var body = Map.of("model", setting("OPENAI_MODEL", "gpt-4o-mini"), "messages", messages);
        var request = HttpRequest.newBuilder(URI.create(url))
                .header("content-type", "application/json")
                .header("authorization", "Bearer " + setting("OPENAI_API_KEY", ""))
                .POST(HttpRequest.BodyPublishers.ofString(GSON.toJson(body)))
                .build();
        var response = HTTP.send(request, HttpResponse.BodyHandlers.ofString());
        if (response.statusCode() != 200) {
            throw new IOException("the model: HTTP " + response.statusCode() + ": " + response.body());
        }
        var answer = GSON.fromJson(response.body(), JsonObject.class);
        var choice = answer.getAsJsonArray("choices").get(0).getAsJsonObject();
        return choice.getAsJsonObject("message").get("content").getAsString();
    }

    private static String setting(String name, String otherwise) {
        var value = System.getenv(name);
        return value == null || value.isEmpty() ? otherwise : value;
    }

    private static String argument(String[] arguments, int index, String otherwise) {
        return arguments.length > index ? arguments[index] : otherwise;
    }
}
