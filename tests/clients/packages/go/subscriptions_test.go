// Subscriptions against a scripted server and a real one.
package clients

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	recollect "github.com/recollect-memory/recollect/clients/go"
	pb "github.com/recollect-memory/recollect/clients/go/recollectv1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
)

// subscriptionScript streams its batches, which have one event each, one by stream. Each stream ends
// with the next error, or without one.
type subscriptionScript struct {
	pb.UnimplementedSubscriptionServiceServer

	mutex        sync.Mutex
	batches      []string
	ends         []error
	streams      int
	acknowledged []string
	// lasting is the number of the stream that lasts longer than a second; 0: none.
	lasting int
	// left takes a value for each stream that the client leaves; nil: the server ends them.
	left chan struct{}
}

func (s *subscriptionScript) StreamEvents(_ *pb.StreamEventsRequest, stream grpc.ServerStreamingServer[pb.StreamEventsResponse]) error {
	number, end := s.begin(stream)
	if s.left != nil {
		<-stream.Context().Done()
		s.left <- struct{}{}
	}
	if number == s.lasting {
		time.Sleep(1100 * time.Millisecond)
	}
	return end
}

// begin sends the next batch, and returns the number of the stream and its end.
func (s *subscriptionScript) begin(stream grpc.ServerStreamingServer[pb.StreamEventsResponse]) (int, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.streams++
	if len(s.acknowledged) < len(s.batches) {
		id := s.batches[len(s.acknowledged)]
		batch := &pb.StreamEventsResponse{BatchId: id, Events: []*pb.SubscriptionEvent{{EventId: id}}}
		if err := stream.Send(batch); err != nil {
			return s.streams, err
		}
	}
	if len(s.ends) == 0 {
		return s.streams, nil
	}
	end := s.ends[0]
	s.ends = s.ends[1:]
	return s.streams, end
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

// subscribed returns the subscriptions of a scripted server, with a client that makes two attempts.
func subscribed(t *testing.T, script *subscriptionScript) *recollect.Subscriptions {
	t.Helper()
	client := connect(t, func(server *grpc.Server) { pb.RegisterSubscriptionServiceServer(server, script) },
		recollect.WithRetry(recollect.RetryPolicy{MaxAttempts: 2, MaxBackoff: 20 * time.Millisecond}))
	return client.Subscriptions()
}

// aMinute returns the context of a test whose streams would otherwise wait without end.
func aMinute(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestAStreamOfEventsIsResumedAfterTheBatchThatWasRead(t *testing.T) {
	away := scripted(codes.Unavailable, "SERVER_STOPPING", 0)
	// Two failures in a row would be one too many; a batch between them begins the count anew.
	script := &subscriptionScript{batches: []string{"1", "2", "3"}, ends: []error{away, away, nil}}
	var ids []string
	for _, event := range all(t, subscribed(t, script).Events(aMinute(t), "crm")) {
		ids = append(ids, event.GetEventId())
	}
	equal(t, ids, []string{"1", "2", "3"})
	equal(t, script.acknowledged, []string{"1", "2", "3"})
	equal(t, script.streams, 3)
}

func TestABatchThatWasNotFinishedComesAgain(t *testing.T) {
	script := &subscriptionScript{batches: []string{"1"}, left: make(chan struct{}, 2)}
	subscriptions := subscribed(t, script)
	ctx := aMinute(t)
	for range 2 {
		for event, err := range subscriptions.Events(ctx, "crm") {
			check(t, err)
			equal(t, event.GetEventId(), "1")
			break
		}
		select {
		case <-script.left:
		case <-ctx.Done():
			t.Fatal("the stream was not closed")
		}
		equal(t, len(script.acknowledged), 0)
	}
}

func TestAQuietStreamThatTheServerEndsIsOpenedAgainHoweverOften(t *testing.T) {
	late := scripted(codes.DeadlineExceeded, "", 0)
	script := &subscriptionScript{ends: []error{late, late, late, nil}}
	equal(t, len(all(t, subscribed(t, script).Events(aMinute(t), "crm"))), 0)
	equal(t, script.streams, 4)
}

func TestAQuietStreamThatLastedIsNoFailure(t *testing.T) {
	away := scripted(codes.Unavailable, "", 0)
	script := &subscriptionScript{ends: []error{away, away, away, nil}, lasting: 2}
	equal(t, len(all(t, subscribed(t, script).Events(aMinute(t), "crm"))), 0)
	equal(t, script.streams, 4)
}

func TestTheDeletionOfASubscriptionEndsItsEventsWithAnError(t *testing.T) {
	script := &subscriptionScript{batches: []string{"1"}, ends: []error{scripted(codes.NotFound, "SUBSCRIPTION_NOT_FOUND", 0)}}
	var ids []string
	var errs []error
	for event, err := range subscribed(t, script).Events(aMinute(t), "crm") {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		ids = append(ids, event.GetEventId())
	}
	equal(t, ids, []string{"1"})
	equal(t, len(errs), 1)
	equal(t, failure(t, errs[0]).Code, codes.NotFound)
	equal(t, script.acknowledged, []string{"1"})
	equal(t, script.streams, 1)
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
		for _, err := range subscribed(t, script).Events(aMinute(t), "crm") {
			errs = append(errs, err)
		}
		equal(t, len(errs), 1)
		equal(t, failure(t, errs[0]).Code, test.code)
		equal(t, script.streams, test.streams)
	}
}

func TestASubscriptionDeliversChanges(t *testing.T) {
	client, app := server(t)
	ctx := aMinute(t)
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
