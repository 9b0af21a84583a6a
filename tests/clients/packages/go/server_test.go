// The module against a real server: RECOLLECT_ADDR and RECOLLECT_API_KEY name it.
package clients

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"reflect"
	"strings"
	"testing"
	"time"

	recollect "github.com/recollect-memory/recollect/clients/go"
	pb "github.com/recollect-memory/recollect/clients/go/recollectv1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

func server(t *testing.T) (*recollect.Client, string) {
	t.Helper()
	client, err := recollect.New()
	check(t, err)
	t.Cleanup(func() { client.Close() })
	return client, "go-" + uuid()
}

func TestAChatTurnIsAContextAndAnAppend(t *testing.T) {
	client, app := server(t)
	ctx := t.Context()
	memory := client.Session(app, "ada", "42")
	if messages := all(t, memory.Messages(ctx)); len(messages) != 0 {
		t.Fatalf("a session without a thread has %v", messages)
	}
	first, err := memory.Append(ctx, recollect.User("My dog is called Pixel."), recollect.Assistant("A fine name!"))
	check(t, err)
	if !first.GetThreadCreated() {
		t.Fatal("the first append creates the thread")
	}

	question := "What is my dog called?"
	built, err := memory.Context(ctx, question, recollect.As(recollect.OpenAI), recollect.SystemPrompt("You help."))
	check(t, err)
	type said struct{ Role, Content string }
	var request struct{ Messages []said }
	check(t, built.Decode(&request))
	equal(t, request.Messages, []said{
		{"system", "You help."},
		{"user", "My dog is called Pixel."},
		{"assistant", "A fine name!"},
		{"user", question},
	})
	equal(t, len(built.Messages), 4)

	_, err = memory.Append(ctx, recollect.User(question), recollect.Assistant("Pixel."))
	check(t, err)
	history, err := memory.History(ctx, func(r *pb.GetHistoryRequest) { r.MaxMessages = number(2) })
	check(t, err)
	equal(t, texts(history.GetMessages()), []string{question, "Pixel."})
}

func TestContextsHaveTheFieldsOfEachFormat(t *testing.T) {
	client, app := server(t)
	memory := client.Session(app, "ada", "42")
	for format, system := range map[recollect.Format]string{
		recollect.OpenAI:          ``,
		recollect.OpenAIResponses: `"You help."`,
		recollect.Anthropic:       `"You help."`,
		recollect.Gemini:          `{"parts":[{"text":"You help."}]}`,
	} {
		built, err := memory.Context(t.Context(), "Hello?", recollect.As(format), recollect.SystemPrompt("You help."))
		check(t, err)
		equal(t, string(built.System), system)
		if last := built.Messages[len(built.Messages)-1]; !strings.Contains(string(last), "Hello?") {
			t.Fatalf("%s: %s", format, last)
		}
	}
	built, err := memory.Context(t.Context(), "Hello?", recollect.As(recollect.Text),
		recollect.Mode(pb.MemoryMode_MEMORY_MODE_NONE), recollect.MaxTokens(100))
	check(t, err)
	if !strings.Contains(built.Body, "Hello?") || built.Messages != nil {
		t.Fatalf("%+v", built)
	}
}

func TestMessagesOfProvidersAreStoredAsTheyAre(t *testing.T) {
	client, app := server(t)
	ctx := t.Context()
	memory := client.Session(app, "ada", "42")
	id := "chatcmpl-" + uuid()
	completion := `{"id": "` + id + `", "choices": [{"message": {"role": "assistant", "content": null,
		"tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "{\"city\": \"Oslo\"}"}}]}}]}`
	stored, err := memory.Append(ctx, recollect.Provider(recollect.OpenAI,
		map[string]any{"role": "user", "content": "How warm is it?"}, json.RawMessage(completion),
		`{"role": "tool", "tool_call_id": "call_1", "content": "12 degrees"}`))
	check(t, err)
	equal(t, stored.GetMessages()[1].GetExternalId(), id)
	built, err := memory.Context(ctx, "Thanks.", recollect.As(recollect.OpenAI))
	check(t, err)
	if !strings.Contains(string(built.Messages[1]), `"{\"city\": \"Oslo\"}"`) {
		t.Fatalf("%s", built.Messages[1])
	}
	_, err = memory.Append(ctx, recollect.Provider(recollect.OpenAI, func() {}))
	if err == nil || !strings.Contains(err.Error(), "json") {
		t.Fatalf("a value that is not JSON: %v", err)
	}
}

func TestMessagesAreReadInPagesAndRecalled(t *testing.T) {
	client, app := server(t)
	ctx := t.Context()
	memory := client.Session(app, "ada", "42")
	for _, text := range []string{"The spare key is under the blue flower pot.", "The red bicycle is in the cellar.", "Good night."} {
		_, err := memory.Append(ctx, recollect.User(text))
		check(t, err)
	}
	var seqs []int64
	for message, err := range memory.Messages(ctx, func(r *pb.ListMessagesRequest) { r.PageSize = 1 }) {
		check(t, err)
		seqs = append(seqs, message.GetSeq())
	}
	equal(t, seqs, []int64{1, 2, 3})
	for message, err := range memory.Messages(ctx, func(r *pb.ListMessagesRequest) {
		r.OrderBy, r.PageSize = "seq desc", 1
	}) {
		check(t, err)
		equal(t, message.GetSeq(), int64(3))
		break
	}
	recalled, err := memory.Recall(ctx, "Where is the spare key?")
	check(t, err)
	found := false
	for _, message := range recalled.GetMessages() {
		found = found || strings.Contains(recollect.TextOf(message.GetMessage()), "flower pot")
	}
	equal(t, found, true)
	matches, err := memory.Search(ctx, "spare key", func(r *pb.SearchRequest) { r.TopK = number(1) })
	check(t, err)
	equal(t, recollect.TextOf(matches.GetMatches()[0].GetMessage()), "The spare key is under the blue flower pot.")
}

func TestMemoriesAreRememberedFoundListedAndForgotten(t *testing.T) {
	client, app := server(t)
	ctx := t.Context()
	memories := client.Session(app, "ada", "42").Memories()
	added, err := memories.Remember(ctx, "Ada lives in Oslo.", "Ada likes tea.")
	check(t, err)
	equal(t, len(added), 2)
	_, err = memories.Add(ctx, &pb.MemoryInput{Text: "Ada plays chess.", Topics: []string{"games"}})
	check(t, err)
	found, err := memories.Search(ctx, "Where does Ada live?", func(r *pb.SearchMemoriesRequest) { r.TopK = number(1) })
	check(t, err)
	equal(t, found[0].GetMemory().GetText(), "Ada lives in Oslo.")
	equal(t, len(all(t, memories.List(ctx, func(r *pb.ListMemoriesRequest) { r.PageSize = 1 }))), 3)
	profile, err := memories.Profile(ctx)
	check(t, err)
	equal(t, profile.GetText(), "games:\n- Ada plays chess.\n\n- Ada lives in Oslo.\n- Ada likes tea.")
	profile, err = memories.Profile(ctx, func(r *pb.GetProfileRequest) { r.MaxTokens = number(1) })
	check(t, err)
	equal(t, profile.GetOmittedCount(), int64(3))
	for _, expected := range []bool{true, false} {
		deleted, err := memories.Forget(ctx, added[0].GetMemory().GetMemoryId())
		check(t, err)
		equal(t, deleted, expected)
	}
}

func TestMemoriesHaveKindsOfTheApp(t *testing.T) {
	client, name := server(t)
	ctx := t.Context()
	app, memories := client.App(name), client.Memories(name, "ada")
	policy, err := app.SetPolicy(ctx, &pb.MemoryPolicy{
		MemoryKinds: []*pb.MemoryKind{{
			Name:        "allergy",
			Description: "A substance that the user cannot take.",
			JsonSchema:  `{"properties": {"substance": {"type": "string"}}, "additionalProperties": false}`,
		}},
		NeverKeep: []string{"salary"},
	})
	check(t, err)
	equal(t, policy.GetPolicy().GetMemoryKinds()[0].GetName(), "allergy")
	_, err = memories.Add(ctx,
		&pb.MemoryInput{Text: "Ada cannot have nuts.", Kind: "allergy", Attributes: `{"substance": "nuts"}`},
		&pb.MemoryInput{Text: "Ada likes cakes without nuts."})
	check(t, err)
	_, err = memories.Add(ctx, &pb.MemoryInput{Text: "Ada cannot have milk.", Kind: "allergy", Attributes: `{"drink": "milk"}`})
	equal(t, failure(t, err).Code, codes.InvalidArgument)

	allergies := &pb.MemoryFilter{Kinds: []string{"allergy"}}
	listed := all(t, memories.List(ctx, func(r *pb.ListMemoriesRequest) { r.Filter = allergies }))
	equal(t, len(listed), 1)
	var attributes map[string]any
	check(t, recollect.FromJSON(listed[0].GetAttributes(), &attributes))
	equal(t, attributes, map[string]any{"substance": "nuts"})
	found, err := memories.Search(ctx, "nuts", func(r *pb.SearchMemoriesRequest) { r.Filter = allergies })
	check(t, err)
	equal(t, len(found), 1)

	_, err = app.SetPolicy(ctx, nil, func(r *pb.UpdateAppPolicyRequest) {
		r.UpdateMask = &fieldmaskpb.FieldMask{Paths: []string{"policy.never_keep"}}
		r.Precondition = recollect.Etag(policy.GetEtag())
	})
	check(t, err)
	policy, err = app.Policy(ctx)
	check(t, err)
	equal(t, []int{len(policy.GetPolicy().GetMemoryKinds()), len(policy.GetPolicy().GetNeverKeep())}, []int{1, 0})
	for _, expected := range []bool{true, false} {
		deleted, err := app.DeletePolicy(ctx)
		check(t, err)
		equal(t, deleted, expected)
	}
}

func TestAMessageNamesTheUserWhoSaidIt(t *testing.T) {
	client, app := server(t)
	ctx := t.Context()
	memory := client.Session(app, "ada", "trip")
	_, err := memory.Append(ctx, recollect.User("I prefer trains."), recollect.SaidBy("bob", "I'm allergic to nuts."),
		recollect.Assistant("Then no nuts on the train."))
	check(t, err)
	var users []string
	for _, message := range all(t, memory.Messages(ctx)) {
		users = append(users, message.GetUserId())
	}
	equal(t, users, []string{"", "bob", ""})
	said := all(t, memory.Messages(ctx, func(r *pb.ListMessagesRequest) {
		r.Filter = &pb.MessageFilter{UserIds: []string{"bob"}}
	}))
	equal(t, texts(said), []string{"I'm allergic to nuts."})
}

func TestThreadsAreListedAndDeleted(t *testing.T) {
	client, app := server(t)
	ctx := t.Context()
	for _, key := range []string{"1", "2"} {
		_, err := client.Session(app, "ada", key).Append(ctx, recollect.User("Hello"))
		check(t, err)
	}
	threads := all(t, client.Threads(ctx, recollect.OfUser(app, "ada"), func(r *pb.ListThreadsRequest) { r.PageSize = 1 }))
	equal(t, len(threads), 2)
	equal(t, threads[0].GetSessionKey(), "2")
	equal(t, len(all(t, client.Thread(threads[0].GetThreadId()).Messages(ctx))), 1)
	for _, expected := range []bool{true, false} {
		deleted, err := client.DeleteThread(ctx, threads[0].GetThreadId())
		check(t, err)
		equal(t, deleted, expected)
		deleted, err = client.Session(app, "ada", "1").Delete(ctx)
		check(t, err)
		equal(t, deleted, expected)
	}
	equal(t, len(all(t, client.Threads(ctx, recollect.OfApp(app)))), 0)
}

func TestGeneratedServicesAreReachable(t *testing.T) {
	client, app := server(t)
	ctx := t.Context()
	memory := client.Session(app, "ada", "42")
	_, err := memory.Append(ctx, recollect.User("Hello"))
	check(t, err)
	logged, err := pb.NewPlanServiceClient(client.Conn()).AppendAttempt(ctx, &pb.AppendAttemptRequest{
		Thread:  memory.Ref(),
		Attempt: &pb.Attempt{Task: "search", Action: "looked"},
	})
	check(t, err)
	equal(t, logged.GetAttempt().GetTask(), "search")
}

func TestMetadataKeepsTheDigitsOfItsNumbers(t *testing.T) {
	client, app := server(t)
	ctx := t.Context()
	memory := client.Session(app, "ada", "42")
	for _, order := range []int64{1234567890123456788, 1234567890123456789} {
		metadata, err := recollect.ToJSON(map[string]any{"order": order, "paid": true})
		check(t, err)
		_, err = memory.Append(ctx, recollect.Messages(&pb.MessageInput{
			Role:     pb.Role_ROLE_USER,
			Parts:    []*pb.Part{{Content: &pb.Part_Text{Text: "Where is it?"}}},
			Metadata: metadata,
		}))
		check(t, err)
	}
	var found map[string]any
	check(t, recollect.FromJSON(all(t, memory.Messages(ctx))[1].GetMetadata(), &found))
	equal(t, found, map[string]any{"order": json.Number("1234567890123456789"), "paid": true})
	filter, err := recollect.ToJSON(found)
	check(t, err)
	matching := all(t, memory.Messages(ctx, func(r *pb.ListMessagesRequest) {
		r.Filter = &pb.MessageFilter{Metadata: filter}
	}))
	equal(t, len(matching), 1)
	equal(t, matching[0].GetSeq(), int64(2))
}

func TestErrorsAreTypedAndReadable(t *testing.T) {
	client, app := server(t)
	ctx := t.Context()
	memory := client.Session(app, "ada", "42")
	_, err := memory.Append(ctx, recollect.User("a\x00b"))
	invalid := failure(t, err)
	equal(t, invalid.Code, codes.InvalidArgument)
	equal(t, invalid.Reason, "INVALID_FIELD")
	equal(t, invalid.Fields[0].Field, "messages[0].parts[0].text")
	if !strings.HasPrefix(err.Error(), "recollect: INVALID_ARGUMENT (INVALID_FIELD): ") {
		t.Fatal(err)
	}
	equal(t, status.Code(err), codes.InvalidArgument)

	_, err = memory.Append(ctx, recollect.User("Hello"))
	check(t, err)
	_, err = memory.Append(ctx, recollect.User("Hello"), recollect.ExpectedHead(""))
	moved := failure(t, err)
	equal(t, moved.Reason, "HEAD_MOVED")
	equal(t, moved.Metadata["head"] != "", true)
	_, err = client.Thread(uuid()).History(ctx)
	equal(t, failure(t, err).Reason, "THREAD_NOT_FOUND")

	canceled, cancel := context.WithCancel(ctx)
	cancel()
	_, err = memory.Recall(canceled, "Hello")
	equal(t, errors.Is(err, context.Canceled), true)

	stream, err := pb.NewThreadServiceClient(client.Conn()).WatchThread(ctx, &pb.WatchThreadRequest{
		Thread: client.Thread(uuid()).Ref(),
	})
	if err == nil {
		_, err = stream.Recv()
	}
	equal(t, failure(t, err).Reason, "THREAD_NOT_FOUND")
}

func TestACallerWaitsForTheMemoriesOfWhatItAppended(t *testing.T) {
	client, app := server(t)
	ctx := t.Context()
	_, err := client.App(app).SetPolicy(ctx, &pb.MemoryPolicy{
		Extraction: pb.ExtractionStrategy_EXTRACTION_STRATEGY_DISCRETE,
	})
	check(t, err)
	memory := client.Session(app, "ada", "42")
	_, err = memory.Append(ctx, recollect.User("I live in Bergen."), recollect.Assistant("How nice."))
	check(t, err)
	done, err := memory.ExtractMemories(ctx, 30*time.Second)
	check(t, err)
	equal(t, done.GetComplete(), true)
	known := all(t, memory.Memories().List(ctx))
	equal(t, len(known), 1)
}

func TestARequestIDMakesARepetitionSafe(t *testing.T) {
	client, app := server(t)
	ctx := t.Context()
	memory := client.Session(app, "ada", "42")
	id := uuid()
	for _, replayed := range []bool{false, true} {
		stored, err := memory.Append(ctx, recollect.User("Hello"), recollect.RequestID(id))
		check(t, err)
		equal(t, stored.GetReplayed(), replayed)
	}
	equal(t, len(all(t, memory.Messages(ctx))), 1)
}

func all[T any](t *testing.T, entries iter.Seq2[T, error]) []T {
	t.Helper()
	var list []T
	for entry, err := range entries {
		check(t, err)
		list = append(list, entry)
	}
	return list
}

func texts(messages []*pb.Message) []string {
	list := make([]string, len(messages))
	for index, message := range messages {
		list[index] = recollect.TextOf(message)
	}
	return list
}

func failure(t *testing.T, err error) *recollect.Error {
	t.Helper()
	var failed *recollect.Error
	if !errors.As(err, &failed) {
		t.Fatalf("not a *recollect.Error: %v", err)
	}
	return failed
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t *testing.T, found, expected any) {
	t.Helper()
	if !reflect.DeepEqual(found, expected) {
		t.Fatalf("found %v, expected %v", found, expected)
	}
}

func number(value int32) *int32 { return &value }
