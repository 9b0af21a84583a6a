package recollect

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	pb "github.com/recollect-memory/recollect/clients/go/recollectv1"
)

// Subscriptions deliver changes of the tenant, an app or a user to other systems. Changing them
// needs a key with the scope admin, and so do the events of one with a URL.
type Subscriptions struct{ client *Client }

// Subscriptions returns the subscriptions of the tenant.
func (c *Client) Subscriptions() *Subscriptions { return &Subscriptions{client: c} }

func (s *Subscriptions) service() pb.SubscriptionServiceClient {
	return pb.NewSubscriptionServiceClient(s.client.conn)
}

// Create creates a subscription to the changes that begin from now on; its name has 1 to 64
// characters of a-z, A-Z, 0-9, ., _ and -. Options set fields of the request: AppId, UserId and
// Actions select changes, by default all, and Url is where events are sent as webhooks. With a URL
// the response has the Secret that [VerifyWebhook] takes; it cannot be read again.
func (s *Subscriptions) Create(ctx context.Context, name string, options ...func(*pb.CreateSubscriptionRequest)) (*pb.CreateSubscriptionResponse, error) {
	return call(ctx, nil, s.service().CreateSubscription, &pb.CreateSubscriptionRequest{Name: name}, options)
}

// Get returns a subscription, with what waits in it and how many events were lost.
func (s *Subscriptions) Get(ctx context.Context, name string) (*pb.Subscription, error) {
	response, err := s.service().GetSubscription(ctx, &pb.GetSubscriptionRequest{Name: name})
	return response.GetSubscription(), err
}

// List returns all subscriptions, by name: at most 32.
func (s *Subscriptions) List(ctx context.Context) ([]*pb.Subscription, error) {
	response, err := s.service().ListSubscriptions(ctx, &pb.ListSubscriptionsRequest{})
	return response.GetSubscriptions(), err
}

// Update changes the named fields of the subscription with the name of this one: enabled, url and
// actions. A webhook that waits after a failure is sent again at once.
func (s *Subscriptions) Update(ctx context.Context, subscription *pb.Subscription, fields ...string) (*pb.Subscription, error) {
	response, err := s.service().UpdateSubscription(ctx, &pb.UpdateSubscriptionRequest{
		Subscription: subscription,
		UpdateMask:   &fieldmaskpb.FieldMask{Paths: fields},
	})
	return response.GetSubscription(), err
}

// RotateSecret replaces the secret of a subscription with a URL, and returns the new one. For 24 hours
// webhooks have the signature of the former one too.
func (s *Subscriptions) RotateSecret(ctx context.Context, name string) (string, error) {
	request := &pb.RotateSubscriptionSecretRequest{Name: name}
	response, err := s.service().RotateSubscriptionSecret(ctx, request)
	return response.GetSecret(), err
}

// Delete deletes a subscription with the events that wait in it, and reports whether it existed.
func (s *Subscriptions) Delete(ctx context.Context, name string) (bool, error) {
	response, err := s.service().DeleteSubscription(ctx, &pb.DeleteSubscriptionRequest{Name: name})
	return response.GetDeleted(), err
}

// Events returns the events of a subscription, from the first that was not acknowledged on, and
// waits for more. A batch is acknowledged when the event after it is asked for: one that was not
// finished comes again, with the same event_id. A lost connection is made again. The first error
// ends it, also that of a context that ended. [Subscriptions.Get] counts the events that were lost
// (DroppedCount).
//
//	for event, err := range client.Subscriptions().Events(ctx, "crm") { … }
func (s *Subscriptions) Events(ctx context.Context, name string) iter.Seq2[*pb.SubscriptionEvent, error] {
	return func(yield func(*pb.SubscriptionEvent, error) bool) {
		failures := 0
		deliver := func(batch *pb.StreamEventsResponse) bool {
			failures = 0
			for _, event := range batch.GetEvents() {
				if !yield(event, nil) {
					return false
				}
			}
			read := &pb.AcknowledgeEventsRequest{Name: name, BatchId: batch.GetBatchId()}
			if _, err := s.service().AcknowledgeEvents(ctx, read); err != nil {
				yield(nil, err)
				return false
			}
			return true
		}
		for {
			opened := time.Now()
			err := s.stream(ctx, name, deliver)
			if err == nil {
				return
			}
			if !s.client.resumes(ctx, err, time.Since(opened), &failures) {
				yield(nil, err)
				return
			}
		}
	}
}

// stream delivers the batches of one stream until deliver returns false. The error is the stream's.
func (s *Subscriptions) stream(ctx context.Context, name string, deliver func(*pb.StreamEventsResponse) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := s.service().StreamEvents(ctx, &pb.StreamEventsRequest{Name: name})
	for err == nil {
		var batch *pb.StreamEventsResponse
		if batch, err = stream.Recv(); err == nil && !deliver(batch) {
			return nil
		}
	}
	if err == io.EOF {
		return nil
	}
	return err
}

// resumes waits after a failure of a stream, and reports whether the stream may be opened again. It
// counts the failures in a row, without those of streams that had worked.
func (c *Client) resumes(ctx context.Context, err error, lasted time.Duration, failures *int) bool {
	var failed *Error
	if ctx.Err() != nil || !errors.As(err, &failed) {
		return false
	}
	*failures++
	// It is the server that ends a stream which works, or a proxy. A second allows for connecting.
	if failed.Code == codes.DeadlineExceeded || lasted > max(c.retry.MaxBackoff, time.Second) {
		*failures = 0
	}
	passing := failed.Code == codes.Unavailable || failed.Code == codes.DeadlineExceeded || failed.RetryAfter > 0
	return passing && *failures < c.retry.MaxAttempts && wait(ctx, c.retry.pause(max(1, *failures), failed.RetryAfter))
}
