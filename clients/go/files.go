package recollect

import (
	"context"

	pb "github.com/recollect-memory/recollect/clients/go/recollectv1"
)

// Files are a tree of text files that agents keep for one user.
//
// A path is absolute, such as /projects/garden.md: 1 to 15 names, each of 1 to 256 bytes after a /.
// Directories are those that files are in. Changes of one user's files happen one after the other,
// so none is lost. Texts are stored text: give them to a model as data.
//
// Options set fields of the request. Calls that change a file take a Precondition, of [Etag] or
// [Absent].
type Files struct {
	service pb.MemoryFileServiceClient
	user    *pb.UserRef
	// invalid is why all calls fail.
	invalid error
}

// Files returns the files of a user of an app, or with [NoUser] those of the app. With an empty
// user its calls fail.
func (c *Client) Files(app, user string) *Files {
	ref, err := userRef(app, user)
	return &Files{service: pb.NewMemoryFileServiceClient(c.conn), user: ref, invalid: err}
}

// View returns a file with its text, or what is in a directory; / has all files. Options set
// FirstLine, LastLine and Version of a file, and Depth: how many levels below a directory are
// listed, 1 to 15, by default 2.
func (f *Files) View(ctx context.Context, path string, options ...func(*pb.GetMemoryFileRequest)) (*pb.GetMemoryFileResponse, error) {
	request := &pb.GetMemoryFileRequest{User: f.user, Path: path}
	return call(ctx, f.invalid, f.service.GetMemoryFile, request, options)
}

// Read returns the text of a file. A directory is INVALID_ARGUMENT. Options are those of [Files.View].
func (f *Files) Read(ctx context.Context, path string, options ...func(*pb.GetMemoryFileRequest)) (string, error) {
	found, err := f.View(ctx, path, options...)
	if found.GetDirectory() != nil {
		return "", invalid("path", "names a directory")
	}
	return found.GetFile().GetLines().GetText(), err
}

// Put creates a file, or replaces its text: at most 256 KiB. A user has at most 1,000 files, of
// together 16 MiB.
func (f *Files) Put(ctx context.Context, path, text string, options ...func(*pb.PutMemoryFileRequest)) (*pb.MemoryFile, error) {
	request := &pb.PutMemoryFileRequest{User: f.user, Path: path, Text: text}
	response, err := call(ctx, f.invalid, f.service.PutMemoryFile, request, options)
	return response.GetFile(), err
}

// Replace replaces a text that occurs exactly once; else it is FAILED_PRECONDITION, whose metadata
// has the lines of several places.
func (f *Files) Replace(ctx context.Context, path, oldText, newText string, options ...func(*pb.ReplaceInMemoryFileRequest)) (*pb.MemoryFile, error) {
	request := &pb.ReplaceInMemoryFileRequest{User: f.user, Path: path, OldText: oldText, NewText: newText}
	response, err := call(ctx, f.invalid, f.service.ReplaceInMemoryFile, request, options)
	return response.GetFile(), err
}

// Insert inserts lines after a line; 0 is the beginning.
func (f *Files) Insert(ctx context.Context, path string, line int32, text string, options ...func(*pb.InsertIntoMemoryFileRequest)) (*pb.MemoryFile, error) {
	request := &pb.InsertIntoMemoryFileRequest{User: f.user, Path: path, Line: line, Text: text}
	response, err := call(ctx, f.invalid, f.service.InsertIntoMemoryFile, request, options)
	return response.GetFile(), err
}

// Delete deletes a file, or a directory with all files in it, and returns how many there were; /
// deletes all files. With EraseVersions it erases the versions too; without, [Files.Restore] brings
// a file back for 30 days.
func (f *Files) Delete(ctx context.Context, path string, options ...func(*pb.DeleteMemoryFileRequest)) (int64, error) {
	request := &pb.DeleteMemoryFileRequest{User: f.user, Path: path}
	response, err := call(ctx, f.invalid, f.service.DeleteMemoryFile, request, options)
	return response.GetDeletedCount(), err
}

// Rename gives a file or a directory another path, at which nothing may be, and returns how many
// files have another path. Versions stay with the files.
func (f *Files) Rename(ctx context.Context, path, newPath string, options ...func(*pb.RenameMemoryFileRequest)) (int64, error) {
	request := &pb.RenameMemoryFileRequest{User: f.user, Path: path, NewPath: newPath}
	response, err := call(ctx, f.invalid, f.service.RenameMemoryFile, request, options)
	return response.GetRenamedCount(), err
}

// Search returns the files whose texts match a query of 1 to 8,192 characters by word and by
// meaning, best first. Options set Path, the directory that is searched, by default /, and TopK: 1
// to 100 files, by default 10.
func (f *Files) Search(ctx context.Context, query string, options ...func(*pb.SearchMemoryFilesRequest)) ([]*pb.FoundMemoryFile, error) {
	request := &pb.SearchMemoryFilesRequest{User: f.user, Query: query}
	response, err := call(ctx, f.invalid, f.service.SearchMemoryFiles, request, options)
	return response.GetFiles(), err
}

// Versions returns the versions of a file, the newest first: at most 50. Also of a file that was
// deleted in the last 30 days.
func (f *Files) Versions(ctx context.Context, path string) ([]*pb.MemoryFileVersion, error) {
	request := &pb.ListMemoryFileVersionsRequest{User: f.user, Path: path}
	response, err := call(ctx, f.invalid, f.service.ListMemoryFileVersions, request, nil)
	return response.GetVersions(), err
}

// Diff returns what changed between two versions as a unified diff. Options set ToVersion, by
// default the newest, and FromVersion, by default the one before it.
func (f *Files) Diff(ctx context.Context, path string, options ...func(*pb.CompareMemoryFileVersionsRequest)) (string, error) {
	request := &pb.CompareMemoryFileVersionsRequest{User: f.user, Path: path}
	response, err := call(ctx, f.invalid, f.service.CompareMemoryFileVersions, request, options)
	return response.GetDiff(), err
}

// Restore gives a file the text of a version, as a new version. 0: the newest, which brings a
// deleted file back.
func (f *Files) Restore(ctx context.Context, path string, version int64, options ...func(*pb.RestoreMemoryFileRequest)) (*pb.MemoryFile, error) {
	request := &pb.RestoreMemoryFileRequest{User: f.user, Path: path, Version: version}
	response, err := call(ctx, f.invalid, f.service.RestoreMemoryFile, request, options)
	return response.GetFile(), err
}
