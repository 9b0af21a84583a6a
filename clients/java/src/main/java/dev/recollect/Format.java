package dev.recollect;

import dev.recollect.v1.ProviderFormat;

/** The message format of a provider's API, or plain text. */
public enum Format {
    /** OpenAI chat completions and compatible APIs: {@code {"messages": […]}}. */
    OPENAI(ProviderFormat.PROVIDER_FORMAT_OPENAI_CHAT, "messages", ""),
    /** OpenAI responses: {@code {"instructions": "…", "input": […]}}. */
    OPENAI_RESPONSES(ProviderFormat.PROVIDER_FORMAT_OPENAI_RESPONSES, "input", "instructions"),
    /** Anthropic messages: {@code {"system": "…", "messages": […]}}. */
    ANTHROPIC(ProviderFormat.PROVIDER_FORMAT_ANTHROPIC_MESSAGES, "messages", "system"),
    /** Gemini generateContent: {@code {"systemInstruction": {…}, "contents": […]}}. */
    GEMINI(ProviderFormat.PROVIDER_FORMAT_GEMINI, "contents", "systemInstruction"),
    /** Plain text for completion models; for contexts alone. */
    TEXT(ProviderFormat.PROVIDER_FORMAT_TEXT, "", "");

    private final ProviderFormat proto;
    final String messagesField;
    final String systemField;

    Format(ProviderFormat proto, String messagesField, String systemField) {
        this.proto = proto;
        this.messagesField = messagesField;
        this.systemField = systemField;
    }

    /** The format in the contract. */
    public ProviderFormat proto() {
        return proto;
    }
}
