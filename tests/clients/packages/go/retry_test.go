// Retries, deadlines, request ids and TLS against a scripted server.
package clients

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	recollect "github.com/recollect-memory/recollect/clients/go"
	pb "github.com/recollect-memory/recollect/clients/go/recollectv1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"
)

const delay = 300 * time.Millisecond

// step is what the server does with one call of AppendMessages.
type step int

const (
	answer step = iota
	storeThenFail
	fail
	refuse
	refuseForGood
	invalid
	hang
)

// script is a server that takes its steps in order, and then answers.
type script struct {
	pb.UnimplementedMessageServiceServer
	pb.UnimplementedThreadServiceServer
	pb.UnimplementedEventServiceServer

	mutex sync.Mutex
	steps []step
	// stored is the number of messages by request_id.
	stored map[string]int
	calls  []call
	others int
}

type call struct {
	requestID, key string
	time           time.Time
}

func (s *script) AppendMessages(ctx context.Context, request *pb.AppendMessagesRequest) (*pb.AppendMessagesResponse, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	headers, _ := metadata.FromIncomingContext(ctx)
	key := strings.Join(headers.Get("authorization"), ",")
	s.calls = append(s.calls, call{request.GetRequestId(), key, time.Now()})
	now := answer
	if len(s.steps) > 0 {
		now, s.steps = s.steps[0], s.steps[1:]
	}
	switch now {
	case fail:
		return nil, scripted(codes.Unavailable, "DATABASE_UNAVAILABLE", 0)
	case refuse:
		return nil, scripted(codes.ResourceExhausted, "OVERLOADED", delay)
	case refuseForGood:
		return nil, scripted(codes.ResourceExhausted, "EPHEMERAL_MEMORY_FULL", 0)
	case invalid:
		return nil, scripted(codes.InvalidArgument, "INVALID_FIELD", 0)
	case hang:
		<-ctx.Done()
		return nil, ctx.Err()
	}
	_, replayed := s.stored[request.GetRequestId()]
	if !replayed {
		s.stored[request.GetRequestId()] = len(request.GetMessages())
	}
	if now == storeThenFail {
		return nil, scripted(codes.Unavailable, "DATABASE_UNAVAILABLE", 0)
	}
	return &pb.AppendMessagesResponse{Replayed: replayed}, nil
}

func (s *script) other() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.others++
	return scripted(codes.Unavailable, "DATABASE_UNAVAILABLE", 0)
}

func (s *script) CreateThread(context.Context, *pb.CreateThreadRequest) (*pb.CreateThreadResponse, error) {
	return nil, s.other()
}

func (s *script) GetThread(context.Context, *pb.GetThreadRequest) (*pb.GetThreadResponse, error) {
	return nil, s.other()
}

func (s *script) SetHead(context.Context, *pb.SetHeadRequest) (*pb.SetHeadResponse, error) {
	return nil, s.other()
}

func (s *script) UpdateThread(context.Context, *pb.UpdateThreadRequest) (*pb.UpdateThreadResponse, error) {
	return nil, s.other()
}

func (s *script) AppendEvents(context.Context, *pb.AppendEventsRequest) (*pb.AppendEventsResponse, error) {
	return nil, s.other()
}

func scripted(code codes.Code, reason string, retryDelay time.Duration) error {
	details := []protoadapt.MessageV1{&errdetails.ErrorInfo{Reason: reason, Domain: "recollect.dev"}}
	if retryDelay > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(retryDelay)})
	}
	failed, err := status.New(code, "scripted").WithDetails(details...)
	if err != nil {
		return err
	}
	return failed.Err()
}

// start starts the server, and returns a client of it.
func start(t *testing.T, steps []step, options ...recollect.Option) (*recollect.Client, *script) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	s := serve(t, listener, steps)
	options = append([]recollect.Option{
		recollect.WithAddress(listener.Addr().String()), recollect.WithAPIKey("secret"),
	}, options...)
	client, err := recollect.New(options...)
	check(t, err)
	t.Cleanup(func() { client.Close() })
	return client, s
}

func serve(t *testing.T, listener net.Listener, steps []step, options ...grpc.ServerOption) *script {
	s := &script{steps: steps, stored: map[string]int{}}
	server := grpc.NewServer(options...)
	pb.RegisterMessageServiceServer(server, s)
	pb.RegisterThreadServiceServer(server, s)
	pb.RegisterEventServiceServer(server, s)
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	return s
}

func appendTurn(client *recollect.Client, options ...recollect.AppendOption) (*pb.AppendMessagesResponse, error) {
	messages := append(options, recollect.User("My dog is called Pixel."), recollect.Assistant("A fine name!"))
	return client.Session("support", "ada", "42").Append(context.Background(), messages...)
}

func TestAWriteThatWasStoredBeforeItsFailureIsStoredOnce(t *testing.T) {
	client, script := start(t, []step{storeThenFail, fail})
	stored, err := appendTurn(client)
	check(t, err)
	equal(t, stored.GetReplayed(), true)
	equal(t, len(script.calls), 3)
	id := script.calls[0].requestID
	equal(t, len(id), 36)
	equal(t, script.stored, map[string]int{id: 2})
	equal(t, script.calls[2].requestID, id)
	equal(t, script.calls[2].key, "Bearer secret")
}

func TestEachCallHasARequestIDOfItsOwnUnlessItIsGiven(t *testing.T) {
	client, script := start(t, nil)
	given := uuid()
	for _, options := range [][]recollect.AppendOption{nil, nil, {recollect.RequestID(given)}} {
		_, err := appendTurn(client, options...)
		check(t, err)
	}
	equal(t, len(script.stored), 3)
	equal(t, script.calls[2].requestID, given)

	// A request that is sent twice is two requests, and stays as it is.
	request := &pb.AppendMessagesRequest{}
	for range 2 {
		_, err := pb.NewMessageServiceClient(client.Conn()).AppendMessages(t.Context(), request)
		check(t, err)
	}
	equal(t, request.GetRequestId(), "")
	equal(t, len(script.stored), 5)
}

func TestTheServersDelayIsRespected(t *testing.T) {
	client, script := start(t, []step{refuse, refuse})
	_, err := appendTurn(client)
	check(t, err)
	equal(t, len(script.calls), 3)
	for index := 1; index < 3; index++ {
		if waited := script.calls[index].time.Sub(script.calls[index-1].time); waited < delay {
			t.Fatalf("repeated after %v", waited)
		}
	}
	equal(t, len(script.stored), 1)
}

func TestWhatCannotSucceedIsNotRepeated(t *testing.T) {
	client, script := start(t, []step{invalid, refuseForGood})
	_, err := appendTurn(client)
	equal(t, failure(t, err).Reason, "INVALID_FIELD")
	_, err = appendTurn(client)
	equal(t, failure(t, err).Reason, "EPHEMERAL_MEMORY_FULL")
	equal(t, len(script.calls), 2)
}

func TestACallThatMayHaveHappenedIsRepeatedOnlyIfThatIsSafe(t *testing.T) {
	client, script := start(t, nil, recollect.WithRetry(recollect.RetryPolicy{MaxAttempts: 3}))
	threads := pb.NewThreadServiceClient(client.Conn())
	_, err := threads.CreateThread(t.Context(), &pb.CreateThreadRequest{})
	equal(t, failure(t, err).Attempts, 1)
	_, err = threads.GetThread(t.Context(), &pb.GetThreadRequest{})
	equal(t, failure(t, err).Attempts, 3)
	_, err = pb.NewEventServiceClient(client.Conn()).AppendEvents(t.Context(), &pb.AppendEventsRequest{})
	equal(t, failure(t, err).Attempts, 3)
	equal(t, script.others, 7)
}

func TestAWriteThatNamesTheStateToChangeIsNotRepeated(t *testing.T) {
	client, _ := start(t, nil, recollect.WithRetry(recollect.RetryPolicy{MaxAttempts: 3}))
	threads := pb.NewThreadServiceClient(client.Conn())
	head := ""
	for _, test := range []struct {
		setHead  *pb.SetHeadRequest
		attempts int
	}{{&pb.SetHeadRequest{HeadMessageId: "1"}, 3}, {&pb.SetHeadRequest{HeadMessageId: "1", ExpectedHead: &head}, 1}} {
		_, err := threads.SetHead(t.Context(), test.setHead)
		equal(t, failure(t, err).Attempts, test.attempts)
	}
	etag := &pb.Precondition{State: &pb.Precondition_Etag{Etag: "1"}}
	for precondition, attempts := range map[*pb.Precondition]int{nil: 3, etag: 1} {
		request := &pb.UpdateThreadRequest{Thread: &pb.Thread{Title: "A dog"}, Precondition: precondition}
		_, err := threads.UpdateThread(t.Context(), request)
		equal(t, failure(t, err).Attempts, attempts)
	}
}

func TestAKeyIsSentToOtherMachinesWithTLSOnly(t *testing.T) {
	t.Setenv("RECOLLECT_API_KEY", "secret")
	works := func(options ...recollect.Option) bool {
		client, err := recollect.New(options...)
		if err == nil {
			client.Close()
		}
		return err == nil
	}
	local := []string{"localhost:1", "a.localhost:1", "127.1.2.3:1", "[::1]:1", "http://127.0.0.1:1", "unix:/run/recollect.sock"}
	for _, address := range append(local, "https://memory.example") {
		equal(t, works(recollect.WithAddress(address)), true)
	}
	for _, address := range []string{"memory.example:1", "dns:///memory.example:1", "http://10.0.0.7:1", "[2001:db8::1]:1"} {
		to := recollect.WithAddress(address)
		equal(t, works(to), false)
		equal(t, works(to, recollect.WithAPIKeyFunc(func(context.Context) (string, error) { return "", nil })), false)
		equal(t, works(to, recollect.WithAPIKey("")), true)
		equal(t, works(to, recollect.WithPlaintextKey(true)), true)
	}
	t.Setenv("RECOLLECT_ALLOW_PLAINTEXT_KEY", "1")
	equal(t, works(recollect.WithAddress("memory.example:1")), true)
	equal(t, works(recollect.WithAddress("memory.example:1"), recollect.WithPlaintextKey(false)), false)
}

func TestAttemptsAreLimitedAndTheErrorSaysHowManyThereWere(t *testing.T) {
	client, script := start(t, slices.Repeat([]step{fail}, 9), recollect.WithRetry(recollect.RetryPolicy{MaxAttempts: 2}))
	_, err := appendTurn(client)
	equal(t, failure(t, err).Attempts, 2)
	equal(t, err.Error(), "recollect: UNAVAILABLE (DATABASE_UNAVAILABLE): scripted (after 2 attempts)")
	equal(t, len(script.calls), 2)
}

func TestACallHasADeadlineItsRetriesIncluded(t *testing.T) {
	client, script := start(t, append([]step{hang}, slices.Repeat([]step{fail}, 50)...),
		recollect.WithTimeout(400*time.Millisecond), recollect.WithRetry(recollect.RetryPolicy{MaxAttempts: 100}))
	_, err := appendTurn(client)
	equal(t, failure(t, err).Code, codes.DeadlineExceeded)
	equal(t, errors.Is(err, context.DeadlineExceeded), true)
	begin := time.Now()
	_, err = appendTurn(client)
	// The deadline may pass during an attempt, or be too close for the next one.
	if code := failure(t, err).Code; code != codes.Unavailable && code != codes.DeadlineExceeded {
		t.Fatal(err)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Fatalf("it took %v", took)
	}
	if len(script.calls) >= 50 {
		t.Fatalf("%d calls", len(script.calls))
	}
}

func TestNoServerIsUnavailable(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	listener.Close()
	client, err := recollect.New(recollect.WithAddress(listener.Addr().String()),
		recollect.WithRetry(recollect.RetryPolicy{MaxAttempts: 2}))
	check(t, err)
	defer client.Close()
	_, err = appendTurn(client)
	equal(t, failure(t, err).Code, codes.Unavailable)
	equal(t, failure(t, err).Attempts, 2)
	says(t, err, "No Recollect server answers at "+listener.Addr().String()+": start one (`recollect dev`)")
}

func TestAServerWithoutTLSIsNamedAsSuch(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	serve(t, listener, nil)
	client, err := recollect.New(recollect.WithAddress("https://"+listener.Addr().String()),
		recollect.WithRetry(recollect.RetryPolicy{MaxAttempts: 1}))
	check(t, err)
	defer client.Close()
	_, err = appendTurn(client)
	says(t, err, "does not use TLS: use http:// in the address")
}

func TestACallAfterCloseSaysSo(t *testing.T) {
	client, script := start(t, nil)
	check(t, client.Close())
	_, err := appendTurn(client)
	equal(t, failure(t, err).Code, codes.FailedPrecondition)
	says(t, err, "this client is closed")
	equal(t, len(script.calls), 0)
}

func TestAnEmptyUserAndAnEmptyTextAreRefused(t *testing.T) {
	client, script := start(t, nil)
	ctx := context.Background()
	memory := client.Session("support", "", "42")
	_, err := memory.Append(ctx, recollect.User("Hello"))
	equal(t, failure(t, err).Reason, "INVALID_FIELD")
	equal(t, failure(t, err).Fields[0].Field, "user")
	says(t, err, "NoUser")
	_, err = memory.Context(ctx, "Hello")
	says(t, err, "user: is empty")
	_, err = memory.Delete(ctx)
	says(t, err, "user: is empty")
	_, err = memory.Memories().Remember(ctx, "Ada likes tea.")
	says(t, err, "user: is empty")
	_, err = client.Memories("support", "").Search(ctx, "tea")
	says(t, err, "user: is empty")
	for _, err := range memory.Messages(ctx) {
		says(t, err, "user: is empty")
	}
	for _, err := range client.Threads(ctx, recollect.OfUser("support", "")) {
		says(t, err, "user: is empty")
	}
	_, err = client.Files("support", "").Read(ctx, "/a.md")
	says(t, err, "user: is empty")
	_, err = client.Files("support", "").Handle(ctx, `{"command": "view", "path": "/memories"}`)
	says(t, err, "user: is empty")
	for _, user := range []string{"", recollect.NoUser} {
		_, err = client.Session("support", "ada", "42").Append(ctx, recollect.SaidBy(user, "Hello"))
		equal(t, failure(t, err).Fields[0].Field, "messages[0].user_id")
	}
	equal(t, memory.Ref() == nil, true)
	_, err = client.Session("support", "ada", "42").Append(ctx, recollect.User("Hello"), recollect.Assistant(""))
	equal(t, failure(t, err).Fields[0].Field, "messages[1]")
	equal(t, len(script.calls), 0)

	nobody := client.Session("support", recollect.NoUser, "42")
	_, err = nobody.Append(ctx, recollect.User("Hello"))
	check(t, err)
	equal(t, nobody.Ref().GetSession().GetUserId(), "")
}

func TestWhatIsPrintedNamesServerAndConversation(t *testing.T) {
	client, err := recollect.New(recollect.WithAddress("127.0.0.1:1"), recollect.WithAPIKey("secret"))
	check(t, err)
	defer client.Close()
	equal(t, fmt.Sprintf("%v", client), "recollect.Client(127.0.0.1:1)")
	equal(t, fmt.Sprint(client.Session("support", "ada", "42")), `recollect.Session(app: "support", user: "ada", session: "42")`)
}

// says fails the test if an error does not contain a text.
func says(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Fatalf("%v does not say %q", err, text)
	}
}

func TestTLSWithClientCertificates(t *testing.T) {
	authority, pool := certificate(t, nil)
	ofServer, _ := certificate(t, authority)
	ofClient, _ := certificate(t, authority)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	serve(t, listener, nil, grpc.Creds(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{*ofServer},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    pool,
	})))
	for _, test := range []struct {
		certificates []tls.Certificate
		works        bool
	}{{[]tls.Certificate{*ofClient}, true}, {nil, false}} {
		client, err := recollect.New(
			recollect.WithAddress("https://"+listener.Addr().String()),
			recollect.WithTLS(&tls.Config{RootCAs: pool, Certificates: test.certificates}),
			recollect.WithRetry(recollect.RetryPolicy{MaxAttempts: 1}))
		check(t, err)
		defer client.Close()
		_, err = appendTurn(client)
		equal(t, err == nil, test.works)
	}
	if _, err := recollect.New(recollect.WithAddress("http://localhost:1"), recollect.WithTLS(&tls.Config{})); err == nil {
		t.Fatal("an address without TLS was taken together with TLS")
	}
}

// certificate returns a certificate for 127.0.0.1, signed by the authority or by itself, and a
// pool that has it.
func certificate(t *testing.T, authority *tls.Certificate) (*tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(time.Now().UnixNano()),
		Subject:               pkix.Name{CommonName: "recollect"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IsCA:                  authority == nil,
		BasicConstraintsValid: true,
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	parent, signer := template, any(key)
	if authority != nil {
		parent, signer = authority.Leaf, authority.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	check(t, err)
	leaf, err := x509.ParseCertificate(der)
	check(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, pool
}

func uuid() string {
	var id [16]byte
	rand.Read(id[:])
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}
