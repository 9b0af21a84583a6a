package dev.recollect;

import dev.recollect.v1.BuildContextResponse;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What a model is to be sent. */
public final class Context {
    private final Format format;
    private final BuildContextResponse response;

    Context(Format format, BuildContextResponse response) {
        this.format = format;
        this.response = response;
    }

    /** The format of {@link #body()}. */
    public Format format() {
        return format;
    }

    /**
     * The fields of the provider's request that hold the conversation, as JSON text, to which
     * the others are added, such as the model; with {@link Format#TEXT} the text itself.
     */
    public String body() {
        return response.getRenderedCount() == 0 ? "" : response.getRendered(0).getBody();
    }

    /** {@link #body()} as maps, lists, strings, Long, Double, Boolean and null. */
    public Map<String, Object> fields() {
        if (format == Format.TEXT) {
            throw new IllegalStateException("a text has no fields");
        }
        return Json.object(body());
    }

    /** The messages in the provider's format: {@code messages}, {@code input} or {@code contents}. */
    @SuppressWarnings("unchecked")
    public List<Map<String, Object>> messages() {
        return (List<Map<String, Object>>) fields().getOrDefault(format.messagesField, List.of());
    }

    /** The system prompt where the format has a field of its own for it: {@code system} and so on. */
    public Optional<Object> system() {
        return Optional.ofNullable(fields().get(format.systemField));
    }

    /** The size of the context in tokens. */
    public int totalTokens() {
        return response.getTotalTokens();
    }

    /** The whole response: blocks with their sources, what was left out, degradations. */
    public BuildContextResponse response() {
        return response;
    }
}
