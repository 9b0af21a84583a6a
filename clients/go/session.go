package recollect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/recollect-memory/recollect/clients/go/recollectv1"
)

// Session is the memory of one conversation. The first append creates its thread.
type Session struct {
	client *Client
	ref    *pb.ThreadRef
	// invalid is why all calls fail.
	invalid error
}

// Session returns the memory of the conversation with these names: the app (a bot, a flow or a
// workflow), the user, or [NoUser], and the key of the conversation, such as 42. With an empty
// user each call fails.
func (c *Client) Session(app, user, session string) *Session {
	return c.SessionRef(&pb.SessionRef{AppId: app, UserId: user, SessionKey: session})
}

// SessionRef is [Client.Session] with all fields of the contract.
func (c *Client) SessionRef(ref *pb.SessionRef) *Session {
	user, err := userID(ref.GetUserId())
	if err != nil {
		return &Session{client: c, invalid: err}
	}
	named := proto.CloneOf(ref)
	named.UserId = user
	return &Session{client: c, ref: &pb.ThreadRef{Thread: &pb.ThreadRef_Session{Session: named}}}
}

// Thread returns the memory of the thread with this id, a UUID.
func (c *Client) Thread(threadID string) *Session {
	return &Session{client: c, ref: &pb.ThreadRef{Thread: &pb.ThreadRef_ThreadId{ThreadId: threadID}}}
}

// Ref returns the name of the thread, for requests of the generated services. Do not change it. It
// is nil, which the server refuses, if the user is empty.
func (s *Session) Ref() *pb.ThreadRef { return s.ref }

// target returns the thread as the object of a request that also takes users and apps.
func (s *Session) target() *pb.Target {
	return &pb.Target{Target: &pb.Target_Thread{Thread: s.ref}}
}

// Memories returns the long-term memories of the session's user. For a session by [Client.Thread]
// use [Client.Memories].
func (s *Session) Memories() *Memories {
	names := s.ref.GetSession()
	return &Memories{
		client:  s.client,
		user:    &pb.UserRef{AppId: names.GetAppId(), UserId: names.GetUserId()},
		invalid: s.invalid,
	}
}

// String returns the names of the conversation.
func (s *Session) String() string {
	names := s.ref.GetSession()
	switch {
	case s.invalid != nil:
		return "recollect.Session(without a user)"
	case names == nil:
		return fmt.Sprintf("recollect.Session(thread: %q)", s.ref.GetThreadId())
	}
	return fmt.Sprintf("recollect.Session(app: %q, user: %q, session: %q)",
		names.GetAppId(), names.GetUserId(), names.GetSessionKey())
}

// ContextOption sets a field of the request. Write a function for those without a name here:
//
//	func(r *recollectv1.BuildContextRequest) { r.AllBranches = true }
type ContextOption = func(*pb.BuildContextRequest)

// As sets the format of the context. Default: [OpenAI].
func As(format Format) ContextOption {
	return func(r *pb.BuildContextRequest) { r.Formats = []pb.ProviderFormat{format} }
}

// SystemPrompt sets the system prompt, which comes first: at most 256 KiB.
func SystemPrompt(text string) ContextOption {
	return func(r *pb.BuildContextRequest) { r.SystemPrompt = text }
}

// MaxTokens sets the token budget of the whole context: 1 to 10,000,000. Default: that of the policy.
func MaxTokens(tokens int32) ContextOption {
	return func(r *pb.BuildContextRequest) { r.MaxTokens = &tokens }
}

// Mode sets the kind of memory. Default: that of the policy.
func Mode(mode pb.MemoryMode) ContextOption {
	return func(r *pb.BuildContextRequest) {
		if r.Policy == nil {
			r.Policy = &pb.MemoryPolicy{}
		}
		r.Policy.Mode = mode
	}
}

// Context is what a model is to be sent.
type Context struct {
	// Format is the format of Body.
	Format Format
	// Body has the fields of the provider's request that hold the conversation, as JSON, or the
	// text in the format [Text].
	Body string
	// Messages are the messages in the provider's format: messages, input or contents of Body.
	// Nil in the format [Text].
	Messages []json.RawMessage
	// System is the system prompt where the format has a field for it: system, instructions or
	// systemInstruction of Body.
	System json.RawMessage
	// Response is the whole response: blocks with their sources, tokens, what was left out.
	Response *pb.BuildContextResponse
}

// Decode unmarshals Body, for example into the parameters of the provider's SDK.
func (c *Context) Decode(into any) error { return json.Unmarshal([]byte(c.Body), into) }

// Context returns what the model is to be sent: system prompt, memory and the user's new
// message, within a token budget. It stores nothing; [Session.Append] stores the message
// afterwards, together with the answer. An empty input means that it was appended already.
func (s *Session) Context(ctx context.Context, input string, options ...ContextOption) (*Context, error) {
	request := &pb.BuildContextRequest{
		Thread: s.ref, Formats: []pb.ProviderFormat{OpenAI}, Input: textParts(input),
	}
	response, err := call(ctx, s.invalid, pb.NewContextServiceClient(s.client.conn).BuildContext, request, options)
	if err != nil {
		return nil, err
	}
	built := &Context{Response: response}
	if len(response.GetRendered()) == 0 {
		return built, nil
	}
	built.Format, built.Body = response.Rendered[0].GetFormat(), response.Rendered[0].GetBody()
	if built.Format == Text {
		return built, nil
	}
	var fields struct {
		Messages, Input, Contents               []json.RawMessage
		System, Instructions, SystemInstruction json.RawMessage
	}
	if err := built.Decode(&fields); err != nil {
		return nil, fmt.Errorf("recollect: the context: %w", err)
	}
	built.Messages = append(append(fields.Messages, fields.Input...), fields.Contents...)
	built.System = append(append(fields.System, fields.Instructions...), fields.SystemInstruction...)
	return built, nil
}

// Append stores messages: all of them or none. A call that is repeated after a lost connection
// stores them once.
func (s *Session) Append(ctx context.Context, messages ...AppendOption) (*pb.AppendMessagesResponse, error) {
	if s.invalid != nil {
		return nil, s.invalid
	}
	request := &pb.AppendMessagesRequest{Thread: s.ref}
	for _, message := range messages {
		if err := message(request); err != nil {
			var known *Error
			if errors.As(err, &known) {
				return nil, known
			}
			return nil, fmt.Errorf("recollect: append: %w", err)
		}
	}
	return pb.NewMessageServiceClient(s.client.conn).AppendMessages(ctx, request)
}

// Recall returns the newest messages and the best matches with their neighbors, in
// conversation order. Options set fields of the request.
func (s *Session) Recall(ctx context.Context, query string, options ...func(*pb.RecallRequest)) (*pb.RecallResponse, error) {
	request := &pb.RecallRequest{Target: s.target(), Query: query}
	return call(ctx, s.invalid, pb.NewRecallServiceClient(s.client.conn).Recall, request, options)
}

// Search returns the best matches only, best first. Options set fields of the request.
func (s *Session) Search(ctx context.Context, query string, options ...func(*pb.SearchRequest)) (*pb.SearchResponse, error) {
	request := &pb.SearchRequest{Target: s.target(), Query: query}
	return call(ctx, s.invalid, pb.NewRecallServiceClient(s.client.conn).Search, request, options)
}

// Messages returns all stored messages on all branches, the oldest first, read in pages as they
// are needed. The first error ends it. Options set fields of the request, such as OrderBy,
// Filter and PageSize. A session whose thread does not exist yet has no messages.
//
//	for message, err := range memory.Messages(ctx) { … }
func (s *Session) Messages(ctx context.Context, options ...func(*pb.ListMessagesRequest)) iter.Seq2[*pb.Message, error] {
	request := &pb.ListMessagesRequest{Target: s.target()}
	for _, option := range options {
		option(request)
	}
	service := pb.NewMessageServiceClient(s.client.conn)
	return pages(request.GetPageToken(), func(token string) ([]*pb.Message, string, error) {
		if s.invalid != nil {
			return nil, "", s.invalid
		}
		request.PageToken = token
		page, err := service.ListMessages(ctx, request)
		var failed *Error
		if s.ref.GetSession() != nil && errors.As(err, &failed) && failed.Reason == "THREAD_NOT_FOUND" {
			return nil, "", nil
		}
		return page.GetMessages(), page.GetNextPageToken(), err
	})
}

// History returns the conversation that ends at the head, or at another message: whole turns
// within a token budget, by default 2,000. Options set fields of the request, such as Formats,
// which adds Rendered to the response.
func (s *Session) History(ctx context.Context, options ...func(*pb.GetHistoryRequest)) (*pb.GetHistoryResponse, error) {
	request := &pb.GetHistoryRequest{Thread: s.ref}
	return call(ctx, s.invalid, pb.NewMessageServiceClient(s.client.conn).GetHistory, request, options)
}

// ExtractMemories extracts long-term memories of the user from the newest messages now, and waits
// for them for at most maxWait: 0 to 30 seconds. Complete says whether all were read that the thread
// had when the call began. Without the call they are extracted when the thread has been quiet for
// some seconds.
func (s *Session) ExtractMemories(ctx context.Context, maxWait time.Duration) (*pb.ExtractMemoriesResponse, error) {
	request := &pb.ExtractMemoriesRequest{Thread: s.ref, MaxWait: durationpb.New(maxWait)}
	service := pb.NewMemoryServiceClient(s.client.conn)
	return call(ctx, s.invalid, service.ExtractMemories, request, nil)
}

// Delete deletes the thread with everything in it, and reports whether it existed.
func (s *Session) Delete(ctx context.Context) (bool, error) {
	if s.invalid != nil {
		return false, s.invalid
	}
	request := &pb.DeleteThreadRequest{Thread: s.ref}
	response, err := pb.NewThreadServiceClient(s.client.conn).DeleteThread(ctx, request)
	return response.GetDeleted(), err
}

// pages returns the entries of all pages; read returns a page and the token of the next one.
func pages[T any](first string, read func(token string) ([]T, string, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for token := first; ; {
			entries, next, err := read(token)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, entry := range entries {
				if !yield(entry, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			token = next
		}
	}
}
