package dev.recollect;

import dev.recollect.v1.AddMemoriesRequest;
import dev.recollect.v1.AddMemoriesResponse;
import dev.recollect.v1.AddedMemory;
import dev.recollect.v1.DeleteMemoryRequest;
import dev.recollect.v1.FoundMemory;
import dev.recollect.v1.GetProfileRequest;
import dev.recollect.v1.GetProfileResponse;
import dev.recollect.v1.ListMemoriesRequest;
import dev.recollect.v1.ListMemoriesResponse;
import dev.recollect.v1.Memory;
import dev.recollect.v1.MemoryInput;
import dev.recollect.v1.MemoryServiceGrpc;
import dev.recollect.v1.SearchMemoriesRequest;
import dev.recollect.v1.Target;
import dev.recollect.v1.UserRef;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/** The long-term memories of one user: facts and preferences that outlive a conversation. */
public final class Memories {
    private final Calls calls;
    private final UserRef user;

    Memories(Calls calls, UserRef user) {
        this.calls = calls;
        this.user = user;
    }

    /** Stores texts, all or none, and returns the memories. A known text is not stored again. */
    public List<AddedMemory> remember(String... texts) {
        return remember(Arrays.stream(texts)
                .map(text -> MemoryInput.newBuilder().setText(text).build())
                .toList());
    }

    /** As {@link #remember(String...)}, with all fields of the contract, such as topics and an external id. */
    public List<AddedMemory> remember(List<MemoryInput> memories) {
        return Calls.await(rememberAsync(memories)).getMemoriesList();
    }

    /** As {@link #remember(List)}, without waiting. */
    public CompletableFuture<AddMemoriesResponse> rememberAsync(List<MemoryInput> memories) {
        var request = AddMemoriesRequest.newBuilder().setUser(user).addAllMemories(memories);
        return calls.start(MemoryServiceGrpc.getAddMemoriesMethod(), request.build());
    }

    /** The memories that match a query by meaning and by keyword, best first: at most ten. */
    public List<FoundMemory> search(String query) {
        return search(query, request -> {});
    }

    /** As {@link #search(String)}, with further fields of the request, such as their number and a filter. */
    public List<FoundMemory> search(String query, Consumer<SearchMemoriesRequest.Builder> request) {
        var builder = SearchMemoriesRequest.newBuilder().setTarget(target()).setQuery(query);
        request.accept(builder);
        return Calls.await(calls.start(MemoryServiceGrpc.getSearchMemoriesMethod(), builder.build()))
                .getMemoriesList();
    }

    /** All memories, the newest first, read in pages as they are needed. */
    public Pages<Memory> list() {
        return list(request -> {});
    }

    /** As {@link #list()}, with further fields of the request, such as a filter and the size of pages. */
    public Pages<Memory> list(Consumer<ListMemoriesRequest.Builder> request) {
        return new Pages<>(token -> {
            var builder = ListMemoriesRequest.newBuilder().setTarget(target());
            request.accept(builder);
            return Calls.await(calls.start(
                    MemoryServiceGrpc.getListMemoriesMethod(), builder.setPageToken(token).build()));
        }, ListMemoriesResponse::getMemoriesList, ListMemoriesResponse::getNextPageToken);
    }

    /**
     * What is known of the user, by default today, on one page. Its text is stored text: give it to a
     * model as data.
     */
    public GetProfileResponse profile() {
        return profile(request -> {});
    }

    /** As {@link #profile()}, with further fields of the request, such as the largest size and the time. */
    public GetProfileResponse profile(Consumer<GetProfileRequest.Builder> request) {
        var builder = GetProfileRequest.newBuilder().setUser(user);
        request.accept(builder);
        return Calls.await(calls.start(MemoryServiceGrpc.getGetProfileMethod(), builder.build()));
    }

    /** Deletes the memory with this id. False: it did not exist. */
    public boolean forget(String memoryId) {
        var request = DeleteMemoryRequest.newBuilder().setMemoryId(memoryId).build();
        return Calls.await(calls.start(MemoryServiceGrpc.getDeleteMemoryMethod(), request)).getDeleted();
    }

    /** The user as the object of a request that also takes apps. */
    private Target target() {
        return Target.newBuilder().setUser(user).build();
    }
}
