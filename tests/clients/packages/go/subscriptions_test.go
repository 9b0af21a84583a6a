// Subscriptions against a scripted server and a real one.
package clients

import (
	"context"
	"net"
	"sync"
	"testing"

	recollect "github.com/recollect-memory/recollect/clients/go"
	pb "github.com/recollect-memory/recollect/clients/go/recollectv1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
)

// subscriptionScript streams its batches, which have one event each. Each stream ends with the next
// error, or when all batches are acknowledged.
type subscriptionScript struct {
	pb.UnimplementedSubscriptionServiceServer

	mutex        sync.Mutex
	batches      []string
	ends         []error
	streams      int
	acknowledged []string
}

func (s *subscriptionScript) StreamEvents(_ *pb.StreamEventsRequest, stream grpc.ServerStreamingServer[pb.StreamEventsResponse]) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.streams++
	if len(s.acknowledged) < len(s.batches) {
		id := s.batches[len(s.acknowledged)]
		batch := &pb.StreamEventsResponse{BatchId: id, Events: []*pb.SubscriptionEvent{{EventId: id}}}
		if err := stream.Send(batch); err != nil {
			return err
		}
	}
	if len(s.ends) == 0 {
		return nil
	}
	end := s.ends[0]
	s.ends = s.ends[1:]
	return end
}

func (s *subscriptionScript) AcknowledgeEvents(_ context.Context, request *pb.AcknowledgeEventsRequest) (*pb.AcknowledgeEventsResponse, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.acknowledged = append(s.acknowledged, request.GetBatchId())
	return &pb.AcknowledgeEventsResponse{Acknowledged: true}, nil
}

// connect starts a scripted server, and returns a client of it.
func connect(t *testing.T, register func(*grpc.Server), options ...recollect.Option) *recollect.Client {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	server := grpc.NewServer()
	register(server)
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	options = append([]recollect.Option{recollect.WithAddress(listener.Addr().String())}, options...)
	client, err := recollect.New(options...)
	check(t, err)
	t.Cleanup(func() { client.Close() })
	return client
}

// subscribed returns the subscriptions of a scripted server that makes two attempts.
func subscribed(t *testing.T, script *subscriptionScript) *recollect.Subscriptions {
	t.Helper()
	client := connect(t, func(server *grpc.Server) { pb.RegisterSubscriptionServiceServer(server, script) },
		recollect.WithRetry(recollect.RetryPolicy{MaxAttempts: 2}))
	return client.Subscriptions()
}

func TestAStreamOfEventsIsResumedAfterTheBatchThatWasRead(t *testing.T) {
	away := scripted(codes.Unavailable, "SERVER_STOPPING", 0)
	// Two failures in a row would be one too many; a batch between them begins the count anew.
	script := &subscriptionScript{batches: []string{"1", "2", "3"}, ends: []error{away, away, nil}}
	var ids []string
	for _, event := range all(t, subscribed(t, script).Events(t.Context(), "crm")) {
		ids = append(ids, event.GetEventId())
	}
	equal(t, ids, []string{"1", "2", "3"})
	equal(t, script.acknowledged, []string{"1", "2", "3"})
	equal(t, script.streams, 3)
}

func TestABatchThatWasNotFinishedComesAgain(t *testing.T) {
	script := &subscriptionScript{batches: []string{"1"}}
	subscriptions := subscribed(t, script)
	for range 2 {
		for event, err := range subscriptions.Events(t.Context(), "crm") {
			check(t, err)
			equal(t, event.GetEventId(), "1")
			break
		}
		equal(t, len(script.acknowledged), 0)
	}
}

func TestAQuietStreamThatTheServerEndsIsOpenedAgainHoweverOften(t *testing.T) {
	late := scripted(codes.DeadlineExceeded, "", 0)
	script := &subscriptionScript{ends: []error{late, late, late, nil}}
	equal(t, len(all(t, subscribed(t, script).Events(t.Context(), "crm"))), 0)
	equal(t, script.streams, 4)
}

func TestAStreamThatCannotBeResumedEndsWithItsError(t *testing.T) {
	away := scripted(codes.Unavailable, "SERVER_STOPPING", 0)
	denied := scripted(codes.PermissionDenied, "SCOPE_MISSING", 0)
	for _, test := range []struct {
		ends    []error
		streams int
		code    codes.Code
	}{{[]error{denied}, 1, codes.PermissionDenied}, {[]error{away, away}, 2, codes.Unavailable}} {
		script := &subscriptionScript{ends: test.ends}
		var errs []error
		for _, err := range subscribed(t, script).Events(t.Context(), "crm") {
			errs = append(errs, err)
		}
		equal(t, len(errs), 1)
		equal(t, failure(t, errs[0]).Code, test.code)
		equal(t, script.streams, test.streams)
	}
}

func TestASubscriptionDeliversChanges(t *testing.T) {
	client, app := server(t)
	ctx := t.Context()
	subscriptions := client.Subscriptions()
	made, err := subscriptions.Create(ctx, app, func(r *pb.CreateSubscriptionRequest) {
		r.AppId = app
		r.Actions = []pb.TransactionAction{pb.TransactionAction_TRANSACTION_ACTION_APPEND_MESSAGES}
	})
	check(t, err)
	equal(t, made.GetSubscription().GetEnabled(), true)
	equal(t, made.GetSecret(), "")
	memory := client.Session(app, "ada", "42")
	for range 2 {
		_, err := memory.Append(ctx, recollect.User("Hello"))
		check(t, err)
	}
	var users []string
	for event, err := range subscriptions.Events(ctx, app) {
		check(t, err)
		equal(t, event.GetItemCount(), int64(1))
		if users = append(users, event.GetUserId()); len(users) == 2 {
			break
		}
	}
	equal(t, users, []string{"ada", "ada"})

	changed, err := subscriptions.Update(ctx, &pb.Subscription{Name: app}, "enabled")
	check(t, err)
	equal(t, changed.GetEnabled(), false)
	found, err := subscriptions.Get(ctx, app)
	check(t, err)
	equal(t, found.GetAppId(), app)
	_, err = subscriptions.RotateSecret(ctx, app)
	equal(t, failure(t, err).Code, codes.InvalidArgument)
	listed, err := subscriptions.List(ctx)
	check(t, err)
	names := map[string]bool{}
	for _, one := range listed {
		names[one.GetName()] = true
	}
	equal(t, names[app], true)
	for _, expected := range []bool{true, false} {
		deleted, err := subscriptions.Delete(ctx, app)
		check(t, err)
		equal(t, deleted, expected)
	}
}
