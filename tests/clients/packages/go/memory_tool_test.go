// The commands of the memory tool, as a model may write them, against a scripted server.
package clients

import (
	"context"
	"fmt"
	"strings"
	"testing"

	pb "github.com/recollect-memory/recollect/clients/go/recollectv1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
)

// fileScript answers calls with these functions.
type fileScript struct {
	pb.UnimplementedMemoryFileServiceServer

	get    func(*pb.GetMemoryFileRequest) *pb.GetMemoryFileResponse
	put    func(*pb.PutMemoryFileRequest) error
	insert func(*pb.InsertIntoMemoryFileRequest)
}

func (s *fileScript) GetMemoryFile(_ context.Context, request *pb.GetMemoryFileRequest) (*pb.GetMemoryFileResponse, error) {
	return s.get(request), nil
}

func (s *fileScript) PutMemoryFile(_ context.Context, request *pb.PutMemoryFileRequest) (*pb.PutMemoryFileResponse, error) {
	return &pb.PutMemoryFileResponse{}, s.put(request)
}

func (s *fileScript) InsertIntoMemoryFile(_ context.Context, request *pb.InsertIntoMemoryFileRequest) (*pb.InsertIntoMemoryFileResponse, error) {
	s.insert(request)
	return &pb.InsertIntoMemoryFileResponse{}, nil
}

// handler returns a function that carries out commands of a scripted server.
func handler(t *testing.T, script *fileScript) func(command any) (string, error) {
	t.Helper()
	client := connect(t, func(server *grpc.Server) { pb.RegisterMemoryFileServiceServer(server, script) })
	files := client.Files("support", "ada")
	return func(command any) (string, error) { return files.Handle(t.Context(), command) }
}

func TestWrongInputOfAModelIsAnAnswerThatSaysWhatIsWrong(t *testing.T) {
	handle := handler(t, &fileScript{})
	wrong := [][2]string{
		{`null`, "Error: Unknown command: none. It must be one of: view, create, str_replace, insert, delete, rename"},
		{`[1]`, "Error: Unknown command: none."},
		{``, "Error: Unknown command: none."},
		{`{"command": "view", "path": "/memo`, "Error: Unknown command: none."},
		{`{"command": "erase"}`, "Error: Unknown command: erase."},
		{`{"command": "view"}`, "Error: `path` is required and is a text"},
		{`{"command": "view", "path": 7}`, "Error: `path` is required"},
		{`{"command": "create", "path": "/memories/a.md"}`, "Error: `file_text` is required"},
		{`{"command": "create", "path": "/memories/a.md", "file_text": "\ud83d"}`, "Error: `file_text` has half of a surrogate pair"},
		{`{"command": "create", "path": "/memories/a.md", "file_text": "\ude00\ud83d"}`, "Error: `file_text` has half of a surrogate pair"},
		{`{"command": "str_replace", "path": "/memories/a.md", "new_str": "x"}`, "Error: `old_str` is required"},
		{`{"command": "str_replace", "path": "/memories/a.md", "old_str": "", "new_str": "x"}`, "No replacement was performed: old_str is empty."},
		{`{"command": "str_replace", "path": "/memories/a.md", "old_str": "x", "new_str": 7}`, "Error: `new_str` is"},
		{`{"command": "insert", "path": "/memories/a.md", "insert_line": 0}`, "Error: `insert_text` is required"},
		{`{"command": "rename", "old_path": "/memories/a.md"}`, "Error: `new_path` is required"},
		{`{"command": "rename", "old_path": "/memories", "new_path": "/memories/a.md"}`, "Error: Cannot rename"},
		{`{"command": "rename", "old_path": "/memories/a.md", "new_path": "/memories/"}`, "Error: The destination /memories already exists"},
		{`{"command": "delete", "path": "/memories"}`, "Error: Cannot delete"},
		{`{"command": "insert", "path": "/memories/a.md", "insert_text": "x"}`, "Error: Invalid `insert_line` parameter: none. It takes"},
	}
	for given, shown := range map[string]string{
		`1.5`: "1.5", `"x"`: "x", `"1"`: "1", `-1`: "-1", `2147483648`: "2147483648", `true`: "true",
	} {
		wrong = append(wrong, [2]string{
			`{"command": "insert", "path": "/memories/a.md", "insert_text": "x", "insert_line": ` + given + `}`,
			"Error: Invalid `insert_line` parameter: " + shown + ". It takes the number of a line of the file, or 0",
		})
	}
	for given, shown := range map[string]string{
		`[1]`: "[1]", `["one","two"]`: `["one", "two"]`, `"1-2"`: "1-2", `[3, 2]`: "[3, 2]", `[1, 1.5]`: "[1, 1.5]",
		`[2, -2]`: "[2, -2]", `{}`: "{}", `[1, null]`: "[1, null]", `[2147483648, -1]`: "[2147483648, -1]",
	} {
		wrong = append(wrong, [2]string{
			`{"command": "view", "path": "/memories/a.md", "view_range": ` + given + `}`,
			"Error: Invalid `view_range` parameter: " + shown + ". It takes the numbers of the first and the last line, and -1 for the end: [first, last]",
		})
	}
	for _, test := range wrong {
		said, err := handle(test[0])
		check(t, err)
		if !strings.HasPrefix(said, test[1]) {
			t.Fatalf("%s: %s", test[0], said)
		}
	}
	said, err := handle(map[string]any{"command": func() {}})
	equal(t, said, "")
	says(t, err, "the command: json: unsupported type")
}

func TestAPathThatLeadsElsewhereIsRefusedAndAnyOtherIsTaken(t *testing.T) {
	var created []string
	handle := handler(t, &fileScript{put: func(request *pb.PutMemoryFileRequest) error {
		created = append(created, request.GetPath())
		return nil
	}})
	put := func(path string) string {
		t.Helper()
		said, err := handle(map[string]any{"command": "create", "path": path, "file_text": ""})
		check(t, err)
		return said
	}
	for _, name := range []string{"../a", "./a", `..\a`, "%2e%2e/x", "%2E./x", "%252e%252e/x", "a%2f..%2fb"} {
		equal(t, put("/memories/"+name), "Error: Path /memories/"+name+" would escape /memories directory")
	}
	for _, name := range []string{"a\x00b", "a\nb", "a\u0085b", "a%00b", "a%C2%85b"} {
		contains(t, put("/memories/"+name), "Error: `path` must not have control characters")
	}
	for _, path := range []string{"/etc/passwd", "memories/a", "/memoriesx", ""} {
		equal(t, put(path), "Error: Path must start with /memories, got: "+path)
	}
	equal(t, len(created), 0)
	names := []string{"/a\u00a0b.md", "/\u3000.md", "/👩\u200d🔬.md", "/100%.md", "/%zz", "/%ff", "/..a"}
	for _, name := range names {
		equal(t, put("/memories"+name), "File created successfully at: /memories"+name)
	}
	equal(t, created, names)
}

func TestAnEscapedSurrogatePairAndItsSpellingAreText(t *testing.T) {
	var texts []string
	handle := handler(t, &fileScript{put: func(request *pb.PutMemoryFileRequest) error {
		texts = append(texts, request.GetText())
		return nil
	}})
	for _, text := range []string{`\ud83d\ude00`, `\\ud83d`} {
		_, err := handle([]byte(`{"command": "create", "path": "/memories/a.md", "file_text": "` + text + `"}`))
		check(t, err)
	}
	equal(t, texts, []string{"😀", `\ud83d`})
}

func TestLinesBeyondTheEndOfAFileAreAnError(t *testing.T) {
	counts := map[string]int{"/a.md": 3, "/one.md": 1, "/empty.md": 0}
	handle := handler(t, &fileScript{get: func(request *pb.GetMemoryFileRequest) *pb.GetMemoryFileResponse {
		count, first := counts[request.GetPath()], max(request.GetFirstLine(), 1)
		text := strings.Join([]string{"a\n", "b\n", "c\n"}[min(int(first)-1, count):count], "")
		return &pb.GetMemoryFileResponse{Entry: &pb.GetMemoryFileResponse_File{File: &pb.MemoryFileContent{
			File:  &pb.MemoryFile{LineCount: int32(count)},
			Lines: &pb.MemoryFileLines{FirstLine: first, Text: text},
		}}}
	}})
	view := func(path string, lines ...int) string {
		t.Helper()
		command := map[string]any{"command": "view", "path": "/memories" + path}
		if lines != nil {
			command["view_range"] = lines
		}
		said, err := handle(command)
		check(t, err)
		return said
	}
	equal(t, view("/a.md", 10, 20), "Error: Invalid `view_range` parameter: [10, 20]: the file has 3 lines")
	equal(t, view("/one.md", 2, -1), "Error: Invalid `view_range` parameter: [2, -1]: the file has 1 line")
	equal(t, view("/a.md", 0, -1), "Here's the content of /memories/a.md with line numbers:\n     1\ta\n     2\tb\n     3\tc")
	equal(t, view("/empty.md"), "Here's the content of /memories/empty.md with line numbers:\n     1\t")
}

func TestAListingLeavesOutHiddenNamesAndSaysWhenThereIsMore(t *testing.T) {
	handle := handler(t, &fileScript{get: func(*pb.GetMemoryFileRequest) *pb.GetMemoryFileResponse {
		return &pb.GetMemoryFileResponse{Entry: &pb.GetMemoryFileResponse_Directory{Directory: &pb.MemoryDirectory{
			Path: "/", SizeBytes: 1536, Truncated: true,
			Entries: []*pb.MemoryDirectoryEntry{
				{Path: "/.git", IsDirectory: true}, {Path: "/a.md", SizeBytes: 1536},
				{Path: "/b", IsDirectory: true, SizeBytes: 1 << 20}, {Path: "/b/node_modules", IsDirectory: true},
			},
		}}}
	}})
	said, err := handle(`{"command": "view", "path": "/memories/"}`)
	check(t, err)
	equal(t, said, "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n"+
		"1.5K\t/memories\n1.5K\t/memories/a.md\n1M\t/memories/b/\nThere are more files; view one of the directories.")
}

func TestAnEmptyTextIsInsertedAsAnEmptyLine(t *testing.T) {
	var inserted []string
	handle := handler(t, &fileScript{insert: func(request *pb.InsertIntoMemoryFileRequest) {
		inserted = append(inserted, fmt.Sprintf("%d:%s", request.GetLine(), request.GetText()))
	}})
	for _, fields := range []string{`"insert_line": 0, "insert_text": ""`, `"insert_line": 2, "insert_text": "x"`} {
		_, err := handle(`{"command": "insert", "path": "/memories/a.md", ` + fields + `}`)
		check(t, err)
	}
	equal(t, inserted, []string{"0:\n", "2:x"})
}

func TestAModelReadsWhatItCanHelpAndOtherErrorsAreReturned(t *testing.T) {
	failing := func(code codes.Code, reason string) (string, error) {
		handle := handler(t, &fileScript{put: func(*pb.PutMemoryFileRequest) error { return scripted(code, reason, 0) }})
		return handle(`{"command": "create", "path": "/memories/a.md", "file_text": "x"}`)
	}
	said, err := failing(codes.ResourceExhausted, "QUOTA_EXCEEDED")
	check(t, err)
	equal(t, said, "Error: The memory does not take this: scripted")
	said, err = failing(codes.PermissionDenied, "SCOPE_MISSING")
	equal(t, said, "")
	equal(t, failure(t, err).Reason, "SCOPE_MISSING")
}
