package recollect

import (
	"context"

	pb "github.com/recollect-memory/recollect/clients/go/recollectv1"
)

// App is an app: a bot, a flow or a workflow.
type App struct {
	client *Client
	id     string
}

// App returns an app: 1 to 128 characters name it.
func (c *Client) App(app string) *App { return &App{client: c, id: app} }

func (a *App) service() pb.PolicyServiceClient { return pb.NewPolicyServiceClient(a.client.conn) }

// Policy returns the app's policy, whose Policy has the fields that the app sets: also MemoryKinds,
// its own kinds of memories, and NeverKeep, what extraction makes no memory of.
func (a *App) Policy(ctx context.Context) (*pb.AppPolicy, error) {
	response, err := a.service().GetAppPolicy(ctx, &pb.GetAppPolicyRequest{AppId: a.id})
	return response.GetAppPolicy(), err
}

// SetPolicy changes the fields of the app's policy that are set, at least one, and leaves the
// others. It applies from the next request on. It returns the whole policy. Options set fields of
// the request, such as Precondition, or UpdateMask, which names the fields to change: those that
// are not set are cleared.
func (a *App) SetPolicy(ctx context.Context, policy *pb.MemoryPolicy, options ...func(*pb.UpdateAppPolicyRequest)) (*pb.AppPolicy, error) {
	request := &pb.UpdateAppPolicyRequest{AppPolicy: &pb.AppPolicy{AppId: a.id, Policy: policy}}
	response, err := call(ctx, nil, a.service().UpdateAppPolicy, request, options)
	return response.GetAppPolicy(), err
}

// DeletePolicy deletes the app's policy, so that the defaults apply, and reports whether it had one.
func (a *App) DeletePolicy(ctx context.Context) (bool, error) {
	response, err := a.service().DeleteAppPolicy(ctx, &pb.DeleteAppPolicyRequest{AppId: a.id})
	return response.GetDeleted(), err
}
