package recollect

import (
	"context"
	"iter"

	pb "github.com/recollect-memory/recollect/clients/go/recollectv1"
)

// Memories are the long-term memories of one user: facts and preferences that outlive a
// conversation.
type Memories struct {
	client *Client
	user   *pb.UserRef
	// invalid is why all calls but Forget fail.
	invalid error
}

// Memories returns the long-term memories of a user of an app, or with [NoUser] those of no user.
// With an empty user its calls fail.
func (c *Client) Memories(app, user string) *Memories {
	ref, err := userRef(app, user)
	return &Memories{client: c, user: ref, invalid: err}
}

func (m *Memories) service() pb.MemoryServiceClient { return pb.NewMemoryServiceClient(m.client.conn) }

// target returns the user as the object of a request that also takes apps.
func (m *Memories) target() *pb.Target { return &pb.Target{Target: &pb.Target_User{User: m.user}} }

// Remember stores texts, all or none. A known text is not stored again.
func (m *Memories) Remember(ctx context.Context, texts ...string) ([]*pb.AddedMemory, error) {
	memories := make([]*pb.MemoryInput, len(texts))
	for index, text := range texts {
		memories[index] = &pb.MemoryInput{Text: text}
	}
	return m.Add(ctx, memories...)
}

// Add is [Memories.Remember] with all fields of the contract, such as topics, an external_id, and a
// kind of the app with its attributes.
func (m *Memories) Add(ctx context.Context, memories ...*pb.MemoryInput) ([]*pb.AddedMemory, error) {
	request := &pb.AddMemoriesRequest{User: m.user, Memories: memories}
	added, err := call(ctx, m.invalid, m.service().AddMemories, request, nil)
	return added.GetMemories(), err
}

// Search returns the memories that match a query by meaning and by keyword, best first.
// Options set fields of the request, such as TopK and Filter, whose Kinds select kinds of the app.
func (m *Memories) Search(ctx context.Context, query string, options ...func(*pb.SearchMemoriesRequest)) ([]*pb.FoundMemory, error) {
	request := &pb.SearchMemoriesRequest{Target: m.target(), Query: query}
	found, err := call(ctx, m.invalid, m.service().SearchMemories, request, options)
	return found.GetMemories(), err
}

// List returns all memories, the newest first, read in pages as they are needed. The first
// error ends it. Options set fields of the request, such as Filter, whose Kinds select kinds of the
// app, and PageSize.
func (m *Memories) List(ctx context.Context, options ...func(*pb.ListMemoriesRequest)) iter.Seq2[*pb.Memory, error] {
	request := &pb.ListMemoriesRequest{Target: m.target()}
	for _, option := range options {
		option(request)
	}
	return pages(request.GetPageToken(), func(token string) ([]*pb.Memory, string, error) {
		if m.invalid != nil {
			return nil, "", m.invalid
		}
		request.PageToken = token
		page, err := m.service().ListMemories(ctx, request)
		return page.GetMemories(), page.GetNextPageToken(), err
	})
}

// Profile returns what is known of the user, by default today, on one page. Its text is stored
// text: give it to a model as data. Options set fields of the request, such as MaxTokens and AsOf.
func (m *Memories) Profile(ctx context.Context, options ...func(*pb.GetProfileRequest)) (*pb.GetProfileResponse, error) {
	request := &pb.GetProfileRequest{User: m.user}
	return call(ctx, m.invalid, m.service().GetProfile, request, options)
}

// Forget deletes the memory with this id, and reports whether it existed.
func (m *Memories) Forget(ctx context.Context, memoryID string) (bool, error) {
	response, err := m.service().DeleteMemory(ctx, &pb.DeleteMemoryRequest{MemoryId: memoryID})
	return response.GetDeleted(), err
}
