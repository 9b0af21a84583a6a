// One chat turn with the Go client that `make generate` writes.
package main

// region chat turn
import (
	"context"
	"fmt"
	"log"
	"os"

	pb "github.com/recollect-memory/recollect/gen/go/recollect/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

func chatTurn(ctx context.Context, conn *grpc.ClientConn, thread *pb.ThreadRef) error {
	question := []*pb.Part{text("What is my dog called?")}
	built, err := pb.NewContextServiceClient(conn).BuildContext(ctx, &pb.BuildContextRequest{
		Thread:  thread,
		Input:   question,
		Formats: []pb.ProviderFormat{pb.ProviderFormat_PROVIDER_FORMAT_TEXT},
	})
	if err != nil {
		return err
	}
	answer := askModel(built.Rendered[0].Body)
	_, err = pb.NewMessageServiceClient(conn).AppendMessages(ctx, &pb.AppendMessagesRequest{
		Thread: thread,
		Messages: []*pb.MessageInput{
			{Role: pb.Role_ROLE_USER, Parts: question},
			{Role: pb.Role_ROLE_ASSISTANT, Parts: []*pb.Part{text(answer)}},
		},
	})
	return err
}

func text(value string) *pb.Part {
	return &pb.Part{Content: &pb.Part_Text{Text: value}}
}

func main() {
	conn, err := grpc.NewClient(os.Getenv("RECOLLECT_ADDR"),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	ctx := metadata.AppendToOutgoingContext(context.Background(),
		"authorization", "Bearer "+os.Getenv("RECOLLECT_API_KEY"))
	session := &pb.SessionRef{AppId: "support", UserId: "ada", SessionKey: "go"}
	thread := &pb.ThreadRef{Thread: &pb.ThreadRef_Session{Session: session}}
	if err := chatTurn(ctx, conn, thread); err != nil {
		log.Fatal(err)
	}
}

// endregion

// askModel stands in for a call of a model's API: it prints what the model would be sent.
func askModel(messages string) string {
	fmt.Println(messages)
	return "Your dog is called Pixel."
}
