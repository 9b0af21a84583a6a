package recollect

import (
	"context"
	"iter"

	pb "github.com/recollect-memory/recollect/clients/go/recollectv1"
)

// OfApp selects the threads of an app.
func OfApp(app string) func(*pb.ListThreadsRequest) {
	return func(r *pb.ListThreadsRequest) {
		r.Target = &pb.Target{Target: &pb.Target_App{App: &pb.AppRef{AppId: app}}}
	}
}

// OfUser selects the threads of a user of an app, or with [NoUser] those without one. With an empty
// user the call fails.
func OfUser(app, user string) func(*pb.ListThreadsRequest) {
	return func(r *pb.ListThreadsRequest) {
		r.Target = &pb.Target{Target: &pb.Target_User{User: &pb.UserRef{AppId: app, UserId: user}}}
	}
}

// Threads returns threads, the newest first, read in pages as they are needed. The first error
// ends it. Options set fields of the request; without [OfApp] and [OfUser] it returns all
// threads of the tenant.
func (c *Client) Threads(ctx context.Context, options ...func(*pb.ListThreadsRequest)) iter.Seq2[*pb.Thread, error] {
	request := &pb.ListThreadsRequest{}
	for _, option := range options {
		option(request)
	}
	service := pb.NewThreadServiceClient(c.conn)
	invalid := error(nil)
	if named := request.GetTarget().GetUser(); named != nil {
		named.UserId, invalid = userID(named.GetUserId())
	}
	return pages(request.GetPageToken(), func(token string) ([]*pb.Thread, string, error) {
		if invalid != nil {
			return nil, "", invalid
		}
		request.PageToken = token
		page, err := service.ListThreads(ctx, request)
		return page.GetThreads(), page.GetNextPageToken(), err
	})
}

// DeleteThread deletes a thread with everything in it, and reports whether it existed.
// [Session.Delete] deletes the thread of a session.
func (c *Client) DeleteThread(ctx context.Context, threadID string) (bool, error) {
	return c.Thread(threadID).Delete(ctx)
}
