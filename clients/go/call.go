package recollect

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// caller makes calls with key, deadline, request id, retries and typed errors.
type caller struct {
	// target is the server's address, for the advice in errors.
	target  string
	closed  *atomic.Bool
	apiKey  func(context.Context) (string, error)
	timeout time.Duration
	retry   RetryPolicy
}

func (p RetryPolicy) withDefaults() RetryPolicy {
	if p.MaxAttempts <= 0 {
		p.MaxAttempts = 7
	}
	if p.InitialBackoff <= 0 {
		p.InitialBackoff = 100 * time.Millisecond
	}
	if p.MaxBackoff <= 0 {
		p.MaxBackoff = 5 * time.Second
	}
	return p
}

// call makes a call of a generated service with a request that options change, unless it is invalid.
func call[Q, R any](ctx context.Context, invalid error, method func(context.Context, *Q, ...grpc.CallOption) (*R, error),
	request *Q, options []func(*Q)) (*R, error) {
	if invalid != nil {
		return nil, invalid
	}
	for _, option := range options {
		option(request)
	}
	return method(ctx, request)
}

func (c caller) unary(ctx context.Context, method string, request, response any,
	conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	if _, limited := ctx.Deadline(); !limited && c.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.timeout)
		defer cancel()
	}
	request = withRequestID(request)
	for attempt := 1; ; attempt++ {
		authorized, err := c.authorized(ctx)
		if err == nil {
			err = invoke(authorized, method, request, response, conn, options...)
		}
		if err == nil {
			return nil
		}
		failure := c.failure(err, method, attempt)
		delay, again := c.delay(failure, method, request, attempt)
		if deadline, limited := ctx.Deadline(); !again || (limited && time.Until(deadline) <= delay) {
			return failure
		}
		if !wait(ctx, delay) {
			return failure
		}
	}
}

// wait reports whether a time passed before the context ended.
func wait(ctx context.Context, delay time.Duration) bool {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (c caller) stream(ctx context.Context, description *grpc.StreamDesc, conn *grpc.ClientConn,
	method string, open grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
	authorized, err := c.authorized(ctx)
	if err != nil {
		return nil, c.failure(err, method, 1)
	}
	stream, err := open(authorized, description, conn, method, options...)
	if err != nil {
		return nil, c.failure(err, method, 1)
	}
	return typedStream{stream, func(err error) error { return c.failure(err, method, 1) }}, nil
}

// failure returns the error of a call, with what to do about it.
func (c caller) failure(err error, method string, attempts int) *Error {
	failure := newError(err, attempts)
	if failure.Code == codes.Canceled && failure.Reason == "" && c.closed.Load() {
		failure.Code, failure.Message = codes.FailedPrecondition, "this client is closed: use another one, or close it later"
		failure.status = status.New(failure.Code, failure.Message)
		return failure
	}
	failure.advise(c.target, method)
	return failure
}

func (c caller) authorized(ctx context.Context) (context.Context, error) {
	if sent, _ := metadata.FromOutgoingContext(ctx); len(sent.Get("authorization")) > 0 {
		return ctx, nil
	}
	key, err := c.apiKey(ctx)
	if err != nil {
		return nil, fmt.Errorf("the API key: %w", err)
	}
	if key == "" {
		return ctx, nil
	}
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+key), nil
}

// delay returns the wait before the next attempt, if there is one.
func (c caller) delay(failure *Error, method string, request any, attempt int) (time.Duration, bool) {
	if attempt >= c.retry.MaxAttempts {
		return 0, false
	}
	// The server refused the call before it did anything.
	refused := failure.Code == codes.ResourceExhausted && failure.RetryAfter > 0
	// The call may have been executed.
	unknown := failure.Code == codes.Unavailable && isRepeatable(method, request)
	if !refused && !unknown {
		return 0, false
	}
	return c.retry.pause(attempt, failure.RetryAfter), true
}

// pause returns the wait after a failed attempt, the first of which is 1.
func (p RetryPolicy) pause(attempt int, retryAfter time.Duration) time.Duration {
	longest := p.MaxBackoff
	if shift := attempt - 1; shift < 32 {
		longest = min(longest, p.InitialBackoff<<shift)
	}
	jitter := time.Duration(mathrand.Int64N(int64(longest)/2 + 1))
	return max(retryAfter, longest/2) + jitter
}

// isRepeatable reports whether executing a call twice has the effect of executing it once.
func isRepeatable(method string, request any) bool {
	name := strings.ReplaceAll(strings.TrimPrefix(method, "/"), "/", ".")
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		return false
	}
	descriptor, ok := found.(protoreflect.MethodDescriptor)
	if !ok {
		return false
	}
	if requestIDField(descriptor.Input()) != nil {
		return true
	}
	options, _ := descriptor.Options().(*descriptorpb.MethodOptions)
	switch options.GetIdempotencyLevel() {
	case descriptorpb.MethodOptions_NO_SIDE_EFFECTS:
		return true
	case descriptorpb.MethodOptions_IDEMPOTENT:
		return !hasPrecondition(request)
	}
	return false
}

// hasPrecondition reports whether a request names a state, which the first run of the call changes.
func hasPrecondition(request any) bool {
	message, ok := request.(proto.Message)
	if !ok {
		return false
	}
	fields := message.ProtoReflect().Descriptor().Fields()
	for _, name := range []protoreflect.Name{"precondition", "expected_head"} {
		if field := fields.ByName(name); field != nil && message.ProtoReflect().Has(field) {
			return true
		}
	}
	return false
}

// withRequestID returns the request with a new request_id, if its type has one and it is empty.
func withRequestID(request any) any {
	message, ok := request.(proto.Message)
	if !ok {
		return request
	}
	field := requestIDField(message.ProtoReflect().Descriptor())
	if field == nil || message.ProtoReflect().Get(field).String() != "" {
		return request
	}
	// The caller's message stays as it is, so that sending it again is a new request.
	message = proto.Clone(message)
	message.ProtoReflect().Set(field, protoreflect.ValueOfString(newUUID()))
	return message
}

func requestIDField(message protoreflect.MessageDescriptor) protoreflect.FieldDescriptor {
	field := message.Fields().ByName("request_id")
	if field == nil || field.Kind() != protoreflect.StringKind || field.IsList() {
		return nil
	}
	return field
}

func newUUID() string {
	var id [16]byte
	rand.Read(id[:]) // It never fails.
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// typedStream is a stream that fails with *Error.
type typedStream struct {
	grpc.ClientStream
	failure func(error) error
}

func (s typedStream) SendMsg(message any) error { return s.typed(s.ClientStream.SendMsg(message)) }

func (s typedStream) RecvMsg(message any) error { return s.typed(s.ClientStream.RecvMsg(message)) }

func (s typedStream) CloseSend() error { return s.typed(s.ClientStream.CloseSend()) }

func (s typedStream) typed(err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return s.failure(err)
}
