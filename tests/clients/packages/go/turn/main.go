// Command turn is one chat turn with the module in clients/go.
package main

// region chat turn
import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	recollect "github.com/recollect-memory/recollect/clients/go"
)

func chatTurn(ctx context.Context, client *recollect.Client, question string) error {
	memory := client.Session("support", "ada", "go-package")
	built, err := memory.Context(ctx, question, recollect.As(recollect.OpenAI))
	if err != nil {
		return err
	}
	answer := askModel(built.Messages)
	_, err = memory.Append(ctx, recollect.User(question), recollect.Assistant(answer))
	return err
}

func main() {
	client, err := recollect.New()
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	if err := chatTurn(context.Background(), client, "What is my dog called?"); err != nil {
		log.Fatal(err)
	}
}

// endregion

// askModel stands in for a call of a model's API: it prints what the model would be sent.
func askModel(messages []json.RawMessage) string {
	for _, message := range messages {
		fmt.Println(string(message))
	}
	return "Your dog is called Pixel."
}
