package dev.recollect;

import dev.recollect.v1.AppendMessagesRequest;
import dev.recollect.v1.AppendMessagesResponse;
import dev.recollect.v1.BuildContextRequest;
import dev.recollect.v1.ContextServiceGrpc;
import dev.recollect.v1.DeleteThreadRequest;
import dev.recollect.v1.DeleteThreadResponse;
import dev.recollect.v1.ExtractMemoriesRequest;
import dev.recollect.v1.ExtractMemoriesResponse;
import dev.recollect.v1.GetHistoryRequest;
import dev.recollect.v1.GetHistoryResponse;
import dev.recollect.v1.ListMessagesRequest;
import dev.recollect.v1.ListMessagesResponse;
import dev.recollect.v1.MemoryServiceGrpc;
import dev.recollect.v1.Message;
import dev.recollect.v1.MessageInput;
import dev.recollect.v1.MessageServiceGrpc;
import dev.recollect.v1.Part;
import dev.recollect.v1.ProviderMessages;
import dev.recollect.v1.RecallRequest;
import dev.recollect.v1.RecallResponse;
import dev.recollect.v1.RecallServiceGrpc;
import dev.recollect.v1.SearchRequest;
import dev.recollect.v1.SearchResponse;
import dev.recollect.v1.Target;
import dev.recollect.v1.ThreadRef;
import dev.recollect.v1.ThreadServiceGrpc;
import dev.recollect.v1.UserRef;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * The memory of one conversation. The first append creates its thread.
 *
 * <p>The methods that take a {@link Consumer} set further fields of the request with it, such as
 * {@code request -> request.setSystemPrompt("You help.").setMaxTokens(4000)}.
 */
public final class Session {
    private final Calls calls;
    private final ThreadRef ref;

    Session(Calls calls, ThreadRef ref) {
        this.calls = calls;
        this.ref = ref;
    }

    /** The name of the thread, for requests of the generated services. */
    public ThreadRef ref() {
        return ref;
    }

    /** The session with its names. */
    @Override
    public String toString() {
        if (!ref.hasSession()) {
            return "Session(thread: " + ref.getThreadId() + ")";
        }
        var names = ref.getSession();
        return "Session(app: " + names.getAppId() + ", user: " + names.getUserId() + ", session: "
                + names.getSessionKey() + ")";
    }

    /** The same session with another deadline for each call. */
    public Session withTimeout(Duration timeout) {
        return new Session(calls.withTimeout(timeout), ref);
    }

    /** The long-term memories of the session's user. Not for a session by {@link Recollect#thread}. */
    public Memories memories() {
        if (!ref.hasSession()) {
            throw new IllegalStateException("name the user: recollect.memories(app, user)");
        }
        var names = ref.getSession();
        var user = UserRef.newBuilder().setAppId(names.getAppId()).setUserId(names.getUserId());
        return new Memories(calls, user.build());
    }

    /**
     * What the model is to be sent: system prompt, memory and the user's new message, within a
     * token budget. It stores nothing; {@link #append} stores the message afterwards, together
     * with the answer.
     *
     * @param input the user's new message; empty, if it was appended already
     */
    public Context context(String input, Format format) {
        return context(input, format, request -> {});
    }

    /** As {@link #context(String, Format)}, with further fields of the request. */
    public Context context(String input, Format format, Consumer<BuildContextRequest.Builder> request) {
        return Calls.await(contextAsync(input, format, request));
    }

    /** As {@link #context(String, Format, Consumer)}, without waiting. */
    public CompletableFuture<Context> contextAsync(
            String input, Format format, Consumer<BuildContextRequest.Builder> request) {
        var builder = BuildContextRequest.newBuilder().setThread(ref).addFormats(format.proto());
        if (!input.isEmpty()) {
            builder.addInput(Part.newBuilder().setText(input));
        }
        request.accept(builder);
        return calls.start(ContextServiceGrpc.getBuildContextMethod(), builder.build())
                .thenApply(response -> new Context(format, response));
    }

    /** Stores a question and its answer: both or neither. */
    public AppendMessagesResponse append(String user, String assistant) {
        return append(List.of(Messages.user(user), Messages.assistant(assistant)));
    }

    /**
     * Stores messages: all of them or none. A call that is repeated after a lost connection
     * stores them once. {@link Messages} makes messages of text.
     */
    public AppendMessagesResponse append(List<MessageInput> messages) {
        return append(request -> request.addAllMessages(messages));
    }

    /**
     * Stores messages in the format of a provider's API: each text is the JSON of one message, a
     * list of messages, a request or a response.
     */
    public AppendMessagesResponse append(Format format, String... json) {
        return append(request -> Arrays.stream(json).forEach(text -> request.addProviderMessages(
                ProviderMessages.newBuilder().setFormat(format.proto()).setJson(text))));
    }

    /** Stores what the request is given: messages, an expected head, a request id of your own. */
    public AppendMessagesResponse append(Consumer<AppendMessagesRequest.Builder> request) {
        return Calls.await(appendAsync(request));
    }

    /** As {@link #append(Consumer)}, without waiting. */
    public CompletableFuture<AppendMessagesResponse> appendAsync(Consumer<AppendMessagesRequest.Builder> request) {
        var builder = AppendMessagesRequest.newBuilder().setThread(ref);
        request.accept(builder);
        return calls.start(MessageServiceGrpc.getAppendMessagesMethod(), builder.build());
    }

    /** The newest messages and the best matches with their neighbors, in conversation order. */
    public RecallResponse recall(String query) {
        return recall(query, request -> {});
    }

    /** As {@link #recall(String)}, with further fields of the request. */
    public RecallResponse recall(String query, Consumer<RecallRequest.Builder> request) {
        return Calls.await(recallAsync(query, request));
    }

    /** As {@link #recall(String, Consumer)}, without waiting. */
    public CompletableFuture<RecallResponse> recallAsync(String query, Consumer<RecallRequest.Builder> request) {
        var builder = RecallRequest.newBuilder().setTarget(target()).setQuery(query);
        request.accept(builder);
        return calls.start(RecallServiceGrpc.getRecallMethod(), builder.build());
    }

    /** The best matches only, best first. */
    public SearchResponse search(String query) {
        return search(query, request -> {});
    }

    /** As {@link #search(String)}, with further fields of the request. */
    public SearchResponse search(String query, Consumer<SearchRequest.Builder> request) {
        var builder = SearchRequest.newBuilder().setTarget(target()).setQuery(query);
        request.accept(builder);
        return Calls.await(calls.start(RecallServiceGrpc.getSearchMethod(), builder.build()));
    }

    /** All stored messages on all branches, the oldest first, read in pages as they are needed. */
    public Pages<Message> messages() {
        return messages(request -> {});
    }

    /**
     * As {@link #messages()}, with further fields of the request, such as the order, a filter and
     * the size of pages. A session whose thread does not exist yet has no messages.
     */
    public Pages<Message> messages(Consumer<ListMessagesRequest.Builder> request) {
        return new Pages<>(token -> {
            var builder = ListMessagesRequest.newBuilder().setTarget(target());
            request.accept(builder);
            try {
                return Calls.await(calls.start(
                        MessageServiceGrpc.getListMessagesMethod(), builder.setPageToken(token).build()));
            } catch (RecollectException failed) {
                if (ref.hasSession() && failed.reason().equals("THREAD_NOT_FOUND")) {
                    return ListMessagesResponse.getDefaultInstance();
                }
                throw failed;
            }
        }, ListMessagesResponse::getMessagesList, ListMessagesResponse::getNextPageToken);
    }

    /** The conversation that ends at the head: whole turns within 2,000 tokens. */
    public GetHistoryResponse history() {
        return history(request -> {});
    }

    /**
     * As {@link #history()}, with further fields of the request, such as the budget, the last message
     * and the formats, which add {@code rendered} to the response.
     */
    public GetHistoryResponse history(Consumer<GetHistoryRequest.Builder> request) {
        var builder = GetHistoryRequest.newBuilder().setThread(ref);
        request.accept(builder);
        return Calls.await(calls.start(MessageServiceGrpc.getGetHistoryMethod(), builder.build()));
    }

    /**
     * Extracts long-term memories of the user from the newest messages now, and waits for them for at
     * most this long: 0 to 30 seconds. {@code complete} says whether all were read that the thread had
     * when the call began. Without the call they are extracted when the thread has been quiet for some
     * seconds.
     */
    public ExtractMemoriesResponse extractMemories(Duration maxWait) {
        var wait = com.google.protobuf.Duration.newBuilder().setSeconds(maxWait.getSeconds()).setNanos(maxWait.getNano());
        var builder = ExtractMemoriesRequest.newBuilder().setThread(ref).setMaxWait(wait);
        return Calls.await(calls.start(MemoryServiceGrpc.getExtractMemoriesMethod(), builder.build()));
    }

    /** Deletes the thread with everything in it. False if it does not exist. */
    public boolean delete() {
        var builder = DeleteThreadRequest.newBuilder().setThread(ref);
        DeleteThreadResponse response =
                Calls.await(calls.start(ThreadServiceGrpc.getDeleteThreadMethod(), builder.build()));
        return response.getDeleted();
    }

    /** The thread as the object of a request that also takes users and apps. */
    private Target target() {
        return Target.newBuilder().setThread(ref).build();
    }
}
