package recollect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	pb "github.com/recollect-memory/recollect/clients/go/recollectv1"
)

// The commands of Anthropic's memory tool (memory_20250818) as calls of MemoryFileService, and the
// answers that the model reads, as Anthropic describes them:
// https://platform.claude.com/docs/en/agents-and-tools/tool-use/memory-tool

// toolRoot is the directory that has all files in the paths of commands.
const toolRoot = "/memories"

// helped are other errors whose messages say what the model can do.
var helped = []string{"NOT_A_MEMORY_FILE", "MEMORY_FILES_FULL", "TEXT_REFUSED", "INVALID_FIELD", "QUOTA_EXCEEDED"}

// Handle carries out a command of Anthropic's memory tool, such as {"command": "view", "path":
// "/memories"}, and returns what the model reads, for an error too: the input of a tool_use block
// needs no check before. A string, a []byte and a json.RawMessage are JSON; other values are
// marshaled. Errors that the model cannot help, such as a server that is away, are returned.
func (f *Files) Handle(ctx context.Context, command any) (string, error) {
	if f.invalid != nil {
		return "", f.invalid
	}
	given, err := readCommand(command)
	if err != nil {
		return "", err
	}
	said, err := f.carryOut(ctx, given)
	if err == nil {
		return said, nil
	}
	var refused refusal
	if errors.As(err, &refused) {
		return string(refused), nil
	}
	var failed *Error
	if errors.As(err, &failed) {
		if said := given.said(failed); said != "" {
			return said, nil
		}
	}
	return "", err
}

func (f *Files) carryOut(ctx context.Context, given *toolCommand) (string, error) {
	switch name := given.shown("command"); name {
	case "view":
		return f.handleView(ctx, given)
	case "create":
		path, text := given.path("path"), given.text("file_text")
		request := &pb.PutMemoryFileRequest{User: f.user, Path: path, Text: text, Precondition: Absent()}
		_, err := call(ctx, given.refused, f.service.PutMemoryFile, request, nil)
		return "File created successfully at: " + given.shown("path"), err
	case "str_replace":
		return f.handleReplace(ctx, given)
	case "insert":
		path, text, line := given.path("path"), given.text("insert_text"), given.line("insert_line")
		if text == "" {
			// An empty line, as the SDK's own tool inserts it.
			text = "\n"
		}
		request := &pb.InsertIntoMemoryFileRequest{User: f.user, Path: path, Text: text, Line: line}
		_, err := call(ctx, given.refused, f.service.InsertIntoMemoryFile, request, nil)
		return "The file " + given.shown("path") + " has been edited.", err
	case "delete":
		request := &pb.DeleteMemoryFileRequest{User: f.user, Path: given.path("path")}
		if request.Path == "/" {
			given.refuse("Error: Cannot delete the /memories directory itself")
		}
		_, err := call(ctx, given.refused, f.service.DeleteMemoryFile, request, nil)
		return "Successfully deleted " + given.shown("path"), err
	case "rename":
		request := &pb.RenameMemoryFileRequest{User: f.user, Path: given.path("old_path"), NewPath: given.path("new_path")}
		if request.Path == "/" {
			given.refuse("Error: Cannot rename the /memories directory itself")
		}
		if request.NewPath == "/" {
			given.refuse("Error: The destination /memories already exists")
		}
		_, err := call(ctx, given.refused, f.service.RenameMemoryFile, request, nil)
		return fmt.Sprintf("Successfully renamed %s to %s", given.shown("old_path"), given.shown("new_path")), err
	default:
		return "", refusal("Error: Unknown command: " + name + ". It must be one of: view, create, str_replace, insert, delete, rename")
	}
}

func (f *Files) handleView(ctx context.Context, given *toolCommand) (string, error) {
	request := &pb.GetMemoryFileRequest{User: f.user, Path: given.path("path")}
	request.FirstLine, request.LastLine = given.lines("view_range")
	response, err := call(ctx, given.refused, f.service.GetMemoryFile, request, nil)
	if err != nil {
		return "", err
	}
	shown := strings.TrimRight(given.shown("path"), "/")
	if directory := response.GetDirectory(); directory != nil {
		return listing(shown, directory), nil
	}
	lines := response.GetFile().GetLines()
	if lines.GetText() == "" && lines.GetFirstLine() > 1 {
		count, plural := response.GetFile().GetFile().GetLineCount(), "s"
		if count == 1 {
			plural = ""
		}
		return "", given.wrong("view_range", fmt.Sprintf(": the file has %d line%s", count, plural))
	}
	return "Here's the content of " + shown + " with line numbers:\n" + numbered(lines), nil
}

func (f *Files) handleReplace(ctx context.Context, given *toolCommand) (string, error) {
	request := &pb.ReplaceInMemoryFileRequest{User: f.user, Path: given.path("path"), OldText: given.text("old_str")}
	if given.has("new_str") {
		request.NewText = given.text("new_str")
	}
	if request.OldText == "" {
		given.refuse("No replacement was performed: old_str is empty.")
	}
	response, err := call(ctx, given.refused, f.service.ReplaceInMemoryFile, request, nil)
	return "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n" +
		numbered(response.GetLines()), err
}

// refusal is the error of a command that is refused: what the model reads.
type refusal string

func (r refusal) Error() string { return string(r) }

// toolCommand is a command as a model wrote it, which nothing checked.
type toolCommand struct {
	fields map[string]json.RawMessage
	// refused is the first refusal, because of a field that was read.
	refused error
}

// readCommand reads a command. What is no JSON object has no fields.
func readCommand(command any) (*toolCommand, error) {
	text, err := ToJSON(command)
	if err != nil {
		return nil, fmt.Errorf("recollect: the command: %w", err)
	}
	given := &toolCommand{}
	// It fails for anything but an object, also for one that was cut off.
	_ = json.Unmarshal([]byte(text), &given.fields)
	return given, nil
}

func (c *toolCommand) refuse(said refusal) {
	if c.refused == nil {
		c.refused = said
	}
}

// wrong returns the refusal of a field with a wrong value.
func (c *toolCommand) wrong(name, problem string) refusal {
	return refusal(fmt.Sprintf("Error: Invalid `%s` parameter: %s%s", name, c.shown(name), problem))
}

func (c *toolCommand) has(name string) bool {
	value, ok := c.fields[name]
	return ok && string(value) != "null"
}

// shown returns a field as answers have it: a text as it is, and other values as JSON.
func (c *toolCommand) shown(name string) string {
	value, ok := c.fields[name]
	if !ok {
		return "none"
	}
	var text string
	if value[0] == '"' && json.Unmarshal(value, &text) == nil {
		return text
	}
	var compact bytes.Buffer
	if json.Compact(&compact, value) != nil {
		return string(value)
	}
	return strings.ReplaceAll(compact.String(), ",", ", ")
}

// text returns a field that is a text.
func (c *toolCommand) text(name string) string {
	value := c.fields[name]
	if len(value) == 0 || value[0] != '"' {
		c.refuse(refusal("Error: `" + name + "` is required and is a text"))
	} else if hasHalfSurrogate(string(value)) {
		c.refuse(refusal("Error: `" + name + "` has half of a surrogate pair"))
	}
	return c.shown(name)
}

var (
	surrogate     = regexp.MustCompile(`(?i)\\ud[89a-f][0-9a-f]{2}`)
	surrogatePair = regexp.MustCompile(`(?i)\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}`)
)

// hasHalfSurrogate reports whether a JSON text escapes half of a surrogate pair, which reading it
// replaces by another character.
func hasHalfSurrogate(text string) bool {
	escapes := strings.ReplaceAll(text, `\\`, " ")
	return surrogate.MatchString(surrogatePair.ReplaceAllString(escapes, " "))
}

var percentEncoded = regexp.MustCompile(`(?i)%[0-9a-f]{2}`)

// path returns the path of the API for one of a command. A path that leads elsewhere is refused.
func (c *toolCommand) path(name string) string {
	shown := c.text(name)
	plain := shown
	// Also what another program would decode to the names of other directories.
	for range 3 {
		if strings.ContainsFunc(plain, unicode.IsControl) {
			c.refuse(refusal("Error: `" + name + "` must not have control characters, percent-encoded ones included"))
		}
		names := strings.Split(strings.ReplaceAll(plain, `\`, "/"), "/")
		if slices.Contains(names, ".") || slices.Contains(names, "..") {
			c.refuse(refusal("Error: Path " + shown + " would escape /memories directory"))
		}
		plain = percentEncoded.ReplaceAllStringFunc(plain, func(encoded string) string {
			number, _ := strconv.ParseUint(encoded[1:], 16, 8)
			return string([]byte{byte(number)})
		})
	}
	below, found := strings.CutPrefix(shown, toolRoot)
	if !found || (below != "" && below[0] != '/') {
		c.refuse(refusal("Error: Path must start with /memories, got: " + shown))
	}
	if below = strings.TrimSuffix(below, "/"); below != "" {
		return below
	}
	return "/"
}

// line returns a field that is the number of a line, or 0.
func (c *toolCommand) line(name string) int32 {
	number, err := strconv.ParseInt(string(c.fields[name]), 10, 32)
	if err != nil || number < 0 {
		c.refuse(c.wrong(name, ". It takes the number of a line of the file, or 0"))
	}
	return int32(number)
}

// lines returns the first and the last line of a field, nil for those that it does not name.
func (c *toolCommand) lines(name string) (first, last *int32) {
	if !c.has(name) {
		return nil, nil
	}
	var numbers []*int32
	err := json.Unmarshal(c.fields[name], &numbers)
	if err == nil && len(numbers) == 2 && !slices.Contains(numbers, nil) {
		first, last = numbers[0], numbers[1]
		*first = max(*first, 1)
		if *last == -1 {
			return first, nil
		}
		if *first <= *last {
			return first, last
		}
	}
	c.refuse(c.wrong(name, ". It takes the numbers of the first and the last line, and -1 for the end: [first, last]"))
	return nil, nil
}

// said returns what an error of the server says to the model; empty if it is none of a command.
func (c *toolCommand) said(failed *Error) string {
	name, path := c.shown("command"), c.shown("path")
	if name == "rename" {
		path = c.shown("old_path")
	}
	// A directory is no file that could be edited.
	isEdit := name == "str_replace" || name == "insert"
	count, counted := failed.Metadata["line_count"]
	switch {
	case failed.Reason == "MEMORY_FILE_NOT_FOUND" || (failed.Reason == "NOT_A_MEMORY_FILE" && isEdit):
		said := "The path " + path + " does not exist"
		if name == "view" || name == "str_replace" {
			said += ". Please provide a valid path."
		}
		if name != "view" {
			said = "Error: " + said
		}
		return said
	case failed.Reason == "ETAG_CHANGED":
		return "Error: File " + path + " already exists"
	case failed.Reason == "MEMORY_FILE_ALREADY_EXISTS":
		return "Error: The destination " + c.shown("new_path") + " already exists"
	case failed.Reason == "TEXT_NOT_FOUND":
		return fmt.Sprintf("No replacement was performed, old_str `%s` did not appear verbatim in %s.", c.shown("old_str"), path)
	case failed.Reason == "TEXT_NOT_UNIQUE":
		lines := strings.ReplaceAll(failed.Metadata["lines"], ",", ", ")
		return fmt.Sprintf("No replacement was performed. Multiple occurrences of old_str `%s` in lines: %s. Please ensure it is unique",
			c.shown("old_str"), lines)
	case counted:
		problem := fmt.Sprintf(". It should be within the range of lines of the file: [0, %s]", count)
		return string(c.wrong("insert_line", problem))
	case slices.Contains(helped, failed.Reason):
		return "Error: The memory does not take this: " + failed.Message
	}
	return ""
}

// numbered returns lines with their numbers, which are six characters wide.
func numbered(lines *pb.MemoryFileLines) string {
	first := max(int(lines.GetFirstLine()), 1)
	// What follows the last line break is no line.
	texts := strings.Split(strings.TrimSuffix(lines.GetText(), "\n"), "\n")
	for index, text := range texts {
		texts[index] = fmt.Sprintf("%6d\t%s", first+index, text)
	}
	return strings.Join(texts, "\n")
}

// listing returns the files and directories in a directory, of two levels, with their sizes.
func listing(shown string, directory *pb.MemoryDirectory) string {
	outer := strings.TrimSuffix(directory.GetPath(), "/")
	isHidden := func(name string) bool { return strings.HasPrefix(name, ".") || name == "node_modules" }
	lines := []string{
		"Here're the files and directories up to 2 levels deep in " + shown + ", excluding hidden items and node_modules:",
		size(directory.GetSizeBytes()) + "\t" + shown,
	}
	for _, entry := range directory.GetEntries() {
		if slices.ContainsFunc(strings.Split(strings.TrimPrefix(entry.GetPath(), outer), "/"), isHidden) {
			continue
		}
		end := ""
		if entry.GetIsDirectory() {
			end = "/"
		}
		lines = append(lines, size(entry.GetSizeBytes())+"\t"+toolRoot+entry.GetPath()+end)
	}
	if directory.GetTruncated() {
		lines = append(lines, "There are more files; view one of the directories.")
	}
	return strings.Join(lines, "\n")
}

// size returns a number of bytes as people read it, such as 5.5K.
func size(bytes int64) string {
	amount, unit := float64(bytes), "B"
	for _, larger := range []string{"K", "M", "G"} {
		if amount < 1024 {
			break
		}
		amount, unit = amount/1024, larger
	}
	if amount == float64(int64(amount)) {
		return fmt.Sprintf("%.0f%s", amount, unit)
	}
	return fmt.Sprintf("%.1f%s", amount, unit)
}
