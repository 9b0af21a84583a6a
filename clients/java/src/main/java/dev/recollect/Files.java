package dev.recollect;

import dev.recollect.v1.CompareMemoryFileVersionsRequest;
import dev.recollect.v1.DeleteMemoryFileRequest;
import dev.recollect.v1.FoundMemoryFile;
import dev.recollect.v1.GetMemoryFileRequest;
import dev.recollect.v1.GetMemoryFileResponse;
import dev.recollect.v1.InsertIntoMemoryFileRequest;
import dev.recollect.v1.InsertIntoMemoryFileResponse;
import dev.recollect.v1.ListMemoryFileVersionsRequest;
import dev.recollect.v1.MemoryFile;
import dev.recollect.v1.MemoryFileServiceGrpc;
import dev.recollect.v1.MemoryFileVersion;
import dev.recollect.v1.PutMemoryFileRequest;
import dev.recollect.v1.PutMemoryFileResponse;
import dev.recollect.v1.RenameMemoryFileRequest;
import dev.recollect.v1.ReplaceInMemoryFileRequest;
import dev.recollect.v1.ReplaceInMemoryFileResponse;
import dev.recollect.v1.RestoreMemoryFileRequest;
import dev.recollect.v1.SearchMemoryFilesRequest;
import dev.recollect.v1.UserRef;
import java.util.List;
import java.util.function.Consumer;

/**
 * The tree of text files that agents keep for a user.
 *
 * <p>A path is absolute, such as {@code /projects/garden.md}: 1 to 15 names, each of 1 to 256 bytes
 * after a {@code /}. Directories are those that files are in. Changes of one user's files happen one
 * after the other, so none is lost. Texts are stored text: give them to a model as data.
 *
 * <p>Methods that change something take a precondition of the file as a further field:
 * {@code request -> request.getPreconditionBuilder().setEtag(file.getEtag())}.
 */
public final class Files {
    private final Calls calls;
    private final UserRef user;

    Files(Calls calls, UserRef user) {
        this.calls = calls;
        this.user = user;
    }

    /** A file with its text, or what is in a directory, two levels deep; {@code /} has all files. */
    public GetMemoryFileResponse view(String path) {
        return view(path, request -> {});
    }

    /** As {@link #view(String)}, with further fields of the request: lines, a version or a depth. */
    public GetMemoryFileResponse view(String path, Consumer<GetMemoryFileRequest.Builder> request) {
        var builder = GetMemoryFileRequest.newBuilder().setUser(user).setPath(path);
        request.accept(builder);
        return Calls.await(calls.start(MemoryFileServiceGrpc.getGetMemoryFileMethod(), builder.build()));
    }

    /** The text of a file. A directory is INVALID_ARGUMENT. */
    public String read(String path) {
        return read(path, request -> {});
    }

    /** As {@link #read(String)}, with further fields of the request: lines or a version. */
    public String read(String path, Consumer<GetMemoryFileRequest.Builder> request) {
        var found = view(path, request);
        if (found.hasDirectory()) {
            throw RecollectException.invalid("path", "names a directory");
        }
        return found.getFile().getLines().getText();
    }

    /**
     * Creates a file, or replaces its text.
     *
     * @param text the whole text: at most 256 KiB. A user has at most 1,000 files, of together 16 MiB
     */
    public PutMemoryFileResponse put(String path, String text) {
        return put(path, text, request -> {});
    }

    /** As {@link #put(String, String)}, with further fields of the request: a precondition. */
    public PutMemoryFileResponse put(String path, String text, Consumer<PutMemoryFileRequest.Builder> request) {
        var builder = PutMemoryFileRequest.newBuilder().setUser(user).setPath(path).setText(text);
        request.accept(builder);
        return Calls.await(calls.start(MemoryFileServiceGrpc.getPutMemoryFileMethod(), builder.build()));
    }

    /**
     * Replaces a text that occurs exactly once. Otherwise it is FAILED_PRECONDITION; where it occurs
     * several times, the metadata of the error has the {@code lines}.
     *
     * @param oldText the text to replace, with its white space
     */
    public ReplaceInMemoryFileResponse replace(String path, String oldText, String newText) {
        return replace(path, oldText, newText, request -> {});
    }

    /** As {@link #replace(String, String, String)}, with further fields of the request: a precondition. */
    public ReplaceInMemoryFileResponse replace(
            String path, String oldText, String newText, Consumer<ReplaceInMemoryFileRequest.Builder> request) {
        var builder = ReplaceInMemoryFileRequest.newBuilder().setUser(user).setPath(path);
        builder.setOldText(oldText).setNewText(newText);
        request.accept(builder);
        return Calls.await(calls.start(MemoryFileServiceGrpc.getReplaceInMemoryFileMethod(), builder.build()));
    }

    /** Inserts lines after the line with this number; 0 is the beginning. */
    public InsertIntoMemoryFileResponse insert(String path, int line, String text) {
        return insert(path, line, text, request -> {});
    }

    /** As {@link #insert(String, int, String)}, with further fields of the request: a precondition. */
    public InsertIntoMemoryFileResponse insert(
            String path, int line, String text, Consumer<InsertIntoMemoryFileRequest.Builder> request) {
        var builder = InsertIntoMemoryFileRequest.newBuilder().setUser(user).setPath(path);
        builder.setLine(line).setText(text);
        request.accept(builder);
        return Calls.await(calls.start(MemoryFileServiceGrpc.getInsertIntoMemoryFileMethod(), builder.build()));
    }

    /**
     * Deletes a file, or a directory with all files in it; {@code /} deletes all files. For 30 days
     * {@link #restore} brings a file back. Returns how many files there were.
     */
    public long delete(String path) {
        return delete(path, request -> {});
    }

    /**
     * As {@link #delete(String)}, with further fields of the request: a precondition, and
     * {@code setEraseVersions(true)}, which also erases the versions, those of files that were
     * deleted before included.
     */
    public long delete(String path, Consumer<DeleteMemoryFileRequest.Builder> request) {
        var builder = DeleteMemoryFileRequest.newBuilder().setUser(user).setPath(path);
        request.accept(builder);
        return Calls.await(calls.start(MemoryFileServiceGrpc.getDeleteMemoryFileMethod(), builder.build()))
                .getDeletedCount();
    }

    /**
     * Gives a file or a directory another path, at which nothing may be. Versions stay with the
     * files. Returns how many files have another path.
     */
    public long rename(String path, String newPath) {
        return rename(path, newPath, request -> {});
    }

    /** As {@link #rename(String, String)}, with further fields of the request: a precondition. */
    public long rename(String path, String newPath, Consumer<RenameMemoryFileRequest.Builder> request) {
        var builder = RenameMemoryFileRequest.newBuilder().setUser(user).setPath(path).setNewPath(newPath);
        request.accept(builder);
        return Calls.await(calls.start(MemoryFileServiceGrpc.getRenameMemoryFileMethod(), builder.build()))
                .getRenamedCount();
    }

    /** The files whose texts match a query by word and by meaning, best first: at most ten. */
    public List<FoundMemoryFile> search(String query) {
        return search(query, request -> {});
    }

    /** As {@link #search(String)}, with further fields of the request: a directory, and the number of files. */
    public List<FoundMemoryFile> search(String query, Consumer<SearchMemoryFilesRequest.Builder> request) {
        var builder = SearchMemoryFilesRequest.newBuilder().setUser(user).setQuery(query);
        request.accept(builder);
        return Calls.await(calls.start(MemoryFileServiceGrpc.getSearchMemoryFilesMethod(), builder.build()))
                .getFilesList();
    }

    /**
     * The versions of a file, the newest first: at most 50. Also of a file that was deleted in the
     * last 30 days.
     */
    public List<MemoryFileVersion> versions(String path) {
        var request = ListMemoryFileVersionsRequest.newBuilder().setUser(user).setPath(path);
        return Calls.await(calls.start(MemoryFileServiceGrpc.getListMemoryFileVersionsMethod(), request.build()))
                .getVersionsList();
    }

    /** What the newest version of a file changed, as a unified diff. */
    public String diff(String path) {
        return diff(path, request -> {});
    }

    /** As {@link #diff(String)}, with further fields of the request: the versions to compare. */
    public String diff(String path, Consumer<CompareMemoryFileVersionsRequest.Builder> request) {
        var builder = CompareMemoryFileVersionsRequest.newBuilder().setUser(user).setPath(path);
        request.accept(builder);
        return Calls.await(calls.start(MemoryFileServiceGrpc.getCompareMemoryFileVersionsMethod(), builder.build()))
                .getDiff();
    }

    /** Brings a deleted file back. */
    public MemoryFile restore(String path) {
        return restore(path, request -> {});
    }

    /**
     * As {@link #restore(String)}, with further fields of the request: a precondition, and the
     * version whose text the file gets, as a new version.
     */
    public MemoryFile restore(String path, Consumer<RestoreMemoryFileRequest.Builder> request) {
        var builder = RestoreMemoryFileRequest.newBuilder().setUser(user).setPath(path);
        request.accept(builder);
        return Calls.await(calls.start(MemoryFileServiceGrpc.getRestoreMemoryFileMethod(), builder.build()))
                .getFile();
    }

    /**
     * Carries out a command of Anthropic's memory tool, and returns what the model reads, for an
     * error too: the input of a {@code tool_use} block needs no check before. Paths are below
     * {@code /memories}. Errors that the model cannot help, such as a server that is away, are
     * thrown.
     *
     * @param command the JSON of the command, such as
     *     {@code {"command": "view", "path": "/memories"}}
     */
    public String handle(String command) {
        return new MemoryTool(this, command).answer();
    }
}
