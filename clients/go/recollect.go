// Package recollect is the client of Recollect, the memory service for LLM agents and chat
// backends.
//
// A chat turn is a context before the model answers, and an append afterwards:
//
//	memory := client.Session("support", "ada", "42")
//	built, err := memory.Context(ctx, question, recollect.As(recollect.OpenAI)) // built.Messages
//	_, err = memory.Append(ctx, recollect.User(question), recollect.Assistant(answer))
//
// Every call has a deadline, a request id if it stores something, and retries; see [New].
// Failed calls return an [*Error]. All methods are safe for concurrent use.
//
// Package recollectv1 has the generated messages and services of the whole contract; use
// [Client.Conn] with them:
//
//	plans := recollectv1.NewPlanServiceClient(client.Conn())
package recollect

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

// Version is the version of this module.
const Version = "1.0.0"

// Client is a connection to a server. Share it, and close it at the end.
type Client struct {
	conn   *grpc.ClientConn
	target string
	closed *atomic.Bool
	retry  RetryPolicy
}

// Option is an option of [New].
type Option func(*settings)

type settings struct {
	address string
	apiKey  func(context.Context) (string, error)
	tls     *tls.Config
	timeout time.Duration
	retry   RetryPolicy
	dial    []grpc.DialOption
	// hasKey is whether a key is sent, and plaintext whether also without TLS to another machine.
	hasKey, plaintext bool
}

// RetryPolicy says how calls are repeated that failed for a passing reason: UNAVAILABLE, where
// a repetition cannot change anything twice, and RESOURCE_EXHAUSTED where the server names the
// delay. The server's delay is always respected.
type RetryPolicy struct {
	// MaxAttempts is the number of attempts, the first one included. Default: 7. 1 never retries.
	MaxAttempts int
	// InitialBackoff is the longest wait before the second attempt; it doubles with each
	// attempt. Default: 100ms.
	InitialBackoff time.Duration
	// MaxBackoff is the longest wait between two attempts. Default: 5s.
	MaxBackoff time.Duration
}

// WithAddress sets the server's address, as host:port or with a scheme: https:// uses TLS,
// http:// does not. Default: the environment variable RECOLLECT_ADDR, or else 127.0.0.1:50051.
func WithAddress(address string) Option {
	return func(s *settings) { s.address = address }
}

// WithAPIKey sets the API key. Default: the environment variable RECOLLECT_API_KEY.
func WithAPIKey(key string) Option {
	return func(s *settings) {
		s.apiKey = func(context.Context) (string, error) { return key, nil }
		s.hasKey = key != ""
	}
}

// WithAPIKeyFunc sets a function that returns the current API key or token (JWT). It is called
// before each attempt of a call.
func WithAPIKeyFunc(key func(context.Context) (string, error)) Option {
	return func(s *settings) { s.apiKey, s.hasKey = key, true }
}

// WithPlaintextKey allows or forbids that the key is sent without TLS to another machine, as on a
// private network. Default: the environment variable RECOLLECT_ALLOW_PLAINTEXT_KEY, or else false.
func WithPlaintextKey(allowed bool) Option {
	return func(s *settings) { s.plaintext = allowed }
}

// WithTLS uses TLS with this configuration, which may have authorities and client
// certificates. Default: no TLS, or with an address that begins with https:// the system's
// authorities.
func WithTLS(config *tls.Config) Option {
	return func(s *settings) { s.tls = config }
}

// WithTimeout sets the deadline of calls whose context has none, all their attempts included.
// Streams have none by default. Default: 30s. 0: none.
func WithTimeout(timeout time.Duration) Option {
	return func(s *settings) { s.timeout = timeout }
}

// WithRetry sets how calls are repeated. Zero fields keep their defaults.
func WithRetry(policy RetryPolicy) Option {
	return func(s *settings) { s.retry = policy }
}

// WithDialOptions adds options of gRPC, such as interceptors and stats handlers.
func WithDialOptions(options ...grpc.DialOption) Option {
	return func(s *settings) { s.dial = append(s.dial, options...) }
}

// New returns a client. It does not connect yet; the first call does.
func New(options ...Option) (*Client, error) {
	s := settings{timeout: 30 * time.Second}
	WithAPIKey(os.Getenv("RECOLLECT_API_KEY"))(&s)
	switch strings.ToLower(os.Getenv("RECOLLECT_ALLOW_PLAINTEXT_KEY")) {
	case "1", "true":
		s.plaintext = true
	}
	for _, option := range options {
		option(&s)
	}
	target, transport, err := s.transport()
	if err != nil {
		return nil, err
	}
	closed, retry := new(atomic.Bool), s.retry.withDefaults()
	calls := caller{target: target, closed: closed, apiKey: s.apiKey, timeout: s.timeout, retry: retry}
	dial := append([]grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithUserAgent("recollect-go/" + Version),
		grpc.WithChainUnaryInterceptor(calls.unary),
		grpc.WithChainStreamInterceptor(calls.stream),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 5 * time.Second},
			MinConnectTimeout: 5 * time.Second,
		}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: time.Minute, Timeout: 20 * time.Second}),
	}, s.dial...)
	conn, err := grpc.NewClient(target, dial...)
	if err != nil {
		return nil, fmt.Errorf("recollect: %w", err)
	}
	return &Client{conn: conn, target: target, closed: closed, retry: retry}, nil
}

func (s *settings) transport() (string, credentials.TransportCredentials, error) {
	address := s.address
	if address == "" {
		address = os.Getenv("RECOLLECT_ADDR")
	}
	if address == "" {
		address = "127.0.0.1:50051"
	}
	secure := s.tls != nil
	if scheme, host, found := strings.Cut(address, "://"); found && (scheme == "http" || scheme == "https") {
		if scheme == "http" && secure {
			return "", nil, fmt.Errorf("recollect: the address %s is without TLS", address)
		}
		secure = scheme == "https"
		address = strings.TrimRight(host, "/")
		if secure && !strings.Contains(address[strings.LastIndex(address, "]")+1:], ":") {
			address += ":443"
		}
	}
	if !secure {
		if s.hasKey && !s.plaintext && !isLocal(address) {
			return "", nil, fmt.Errorf("recollect: the API key would be sent to %s in the clear: "+
				"use https://, or on a private network WithPlaintextKey(true) or RECOLLECT_ALLOW_PLAINTEXT_KEY=1", address)
		}
		return address, insecure.NewCredentials(), nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.tls != nil {
		config = s.tls
	}
	return address, credentials.NewTLS(config), nil
}

// isLocal reports whether connections to an address stay on this machine.
func isLocal(address string) bool {
	if strings.HasPrefix(address, "unix:") || strings.HasPrefix(address, "unix-abstract:") {
		return true
	}
	// The scheme of a resolver, such as dns:///.
	host := address[strings.LastIndex(address, "/")+1:]
	if named, _, err := net.SplitHostPort(host); err == nil {
		host = named
	}
	host = strings.Trim(host, "[]")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// Conn returns the connection for clients of the generated package recollectv1. Its calls have
// the same key, deadline, request ids, retries and errors.
func (c *Client) Conn() grpc.ClientConnInterface { return c.conn }

// Close closes the connection. Calls in progress and later ones fail.
func (c *Client) Close() error {
	c.closed.Store(true)
	return c.conn.Close()
}

// String returns the client with its server, without the key.
func (c *Client) String() string { return fmt.Sprintf("recollect.Client(%s)", c.target) }
