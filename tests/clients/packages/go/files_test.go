// The files of agents against a real server.
package clients

import (
	"strings"
	"testing"

	recollect "github.com/recollect-memory/recollect/clients/go"
	pb "github.com/recollect-memory/recollect/clients/go/recollectv1"
)

func TestFilesAreEditedSearchedAndRestored(t *testing.T) {
	client, app := server(t)
	ctx := t.Context()
	files := client.Files(app, "ada")
	path := "/projects/garden.md"
	created, err := files.Put(ctx, path, "# Garden\n\n- Plant tulips.\n", func(r *pb.PutMemoryFileRequest) { r.Precondition = recollect.Absent() })
	check(t, err)
	equal(t, []any{created.GetVersion(), created.GetLineCount()}, []any{int64(1), int32(3)})
	edited, err := files.Replace(ctx, path, "tulips", "roses", func(r *pb.ReplaceInMemoryFileRequest) {
		r.Precondition = recollect.Etag(created.GetEtag())
	})
	check(t, err)
	equal(t, edited.GetVersion(), int64(2))
	_, err = files.Insert(ctx, path, 0, "x", func(r *pb.InsertIntoMemoryFileRequest) {
		r.Precondition = recollect.Etag(created.GetEtag())
	})
	equal(t, failure(t, err).Reason, "ETAG_CHANGED")
	_, err = files.Insert(ctx, path, 3, "- Order compost.")
	check(t, err)
	last := int32(4)
	text, err := files.Read(ctx, path, func(r *pb.GetMemoryFileRequest) { r.FirstLine = &last })
	check(t, err)
	equal(t, text, "- Order compost.\n")
	_, err = files.Read(ctx, "/projects")
	equal(t, failure(t, err).Fields[0].Field, "path")
	diff, err := files.Diff(ctx, path, func(r *pb.CompareMemoryFileVersionsRequest) { r.FromVersion, r.ToVersion = 1, 2 })
	check(t, err)
	contains(t, diff, "\n-- Plant tulips.\n+- Plant roses.\n")
	found, err := files.Search(ctx, "compost")
	check(t, err)
	equal(t, found[0].GetLines()[0].GetFirstLine(), int32(4))

	renamed, err := files.Rename(ctx, "/projects", "/archive")
	check(t, err)
	equal(t, renamed, int64(1))
	viewed, err := files.View(ctx, "/")
	check(t, err)
	equal(t, viewed.GetDirectory().GetFileCount(), int64(1))
	deleted, err := files.Delete(ctx, "/archive")
	check(t, err)
	equal(t, deleted, int64(1))
	versions, err := files.Versions(ctx, "/archive/garden.md")
	check(t, err)
	equal(t, len(versions), 3)
	restored, err := files.Restore(ctx, "/archive/garden.md", 1)
	check(t, err)
	equal(t, restored.GetVersion(), int64(4))
}

func TestFilesAnswerTheCommandsOfTheMemoryTool(t *testing.T) {
	client, app := server(t)
	ctx := t.Context()
	files := client.Files(app, "ada")
	handle := func(command map[string]any) string {
		t.Helper()
		said, err := files.Handle(ctx, command)
		check(t, err)
		return said
	}
	path := "/memories/archive/garden.md"
	create := map[string]any{"command": "create", "path": path, "file_text": "# Garden\n\n- Plant tulips.\n"}
	equal(t, handle(create), "File created successfully at: "+path)
	equal(t, handle(create), "Error: File "+path+" already exists")
	contains(t, handle(map[string]any{"command": "view", "path": "/memories"}), "26B\t/memories/archive/garden.md")
	contains(t, handle(map[string]any{"command": "view", "path": path, "view_range": []int{3, -1}}), ":\n     3\t- Plant tulips.")
	contains(t, handle(map[string]any{"command": "str_replace", "path": path, "old_str": "a", "new_str": ""}),
		"Multiple occurrences of old_str `a` in lines: 1, 3. Please ensure it is unique")
	contains(t, handle(map[string]any{"command": "str_replace", "path": path, "old_str": "oaks"}), "did not appear verbatim in "+path+".")
	contains(t, handle(map[string]any{"command": "str_replace", "path": path, "old_str": "tulips", "new_str": "roses"}), "     3\t- Plant roses.")
	contains(t, handle(map[string]any{"command": "insert", "path": path, "insert_line": 9, "insert_text": "x"}),
		"Invalid `insert_line` parameter: 9. It should be within the range of lines of the file: [0, 3]")
	equal(t, handle(map[string]any{"command": "insert", "path": path, "insert_line": 3, "insert_text": "x"}), "The file "+path+" has been edited.")
	equal(t, handle(map[string]any{"command": "rename", "old_path": path, "new_path": "/memories/a.md"}), "Successfully renamed "+path+" to /memories/a.md")
	equal(t, handle(map[string]any{"command": "delete", "path": "/memories/a.md"}), "Successfully deleted /memories/a.md")
	equal(t, handle(map[string]any{"command": "view", "path": path}), "The path "+path+" does not exist. Please provide a valid path.")
	equal(t, handle(map[string]any{"command": "delete", "path": path}), "Error: The path "+path+" does not exist")
}

// contains fails the test if a text does not contain a part.
func contains(t *testing.T, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Fatalf("%q does not contain %q", text, part)
	}
}
