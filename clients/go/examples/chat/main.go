// Command chat is a chat in the terminal that remembers: each line of standard input is a
// message.
//
// Usage: chat [APP [USER [SESSION]]]
//
// With OPENAI_API_KEY or OPENAI_BASE_URL a model answers, by any API like OpenAI's; OPENAI_MODEL
// names it. Without them the program shows what the model would be sent.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"

	recollect "github.com/recollect-memory/recollect/clients/go"
)

const system = "You are a friendly assistant. Use what you know about the user."

func main() {
	log.SetFlags(0)
	client, err := recollect.New()
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	memory := client.Session(argument(1, "chat"), argument(2, "ada"), argument(3, "chat"))
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		question := strings.TrimSpace(lines.Text())
		if question == "" {
			continue
		}
		if err := turn(context.Background(), memory, question); err != nil {
			log.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
}

func turn(ctx context.Context, memory *recollect.Session, question string) error {
	built, err := memory.Context(ctx, question, recollect.As(recollect.OpenAI), recollect.SystemPrompt(system))
	if err != nil {
		return err
	}
	if os.Getenv("OPENAI_BASE_URL") == "" && os.Getenv("OPENAI_API_KEY") == "" {
		show(built)
		_, err = memory.Append(ctx, recollect.User(question))
		return err
	}
	answer, err := askModel(ctx, built.Messages)
	if err != nil {
		return err
	}
	fmt.Println(answer)
	_, err = memory.Append(ctx, recollect.User(question), recollect.Assistant(answer))
	return err
}

func show(built *recollect.Context) {
	fmt.Printf("The model would be sent %d tokens:\n", built.Response.GetTotalTokens())
	for _, raw := range built.Messages {
		var message struct {
			Role    string
			Content any
		}
		if err := json.Unmarshal(raw, &message); err == nil {
			fmt.Printf("  %s: %v\n", message.Role, message.Content)
		}
	}
}

func askModel(ctx context.Context, messages []json.RawMessage) (string, error) {
	model := cmp.Or(os.Getenv("OPENAI_MODEL"), "gpt-4o-mini")
	body, err := json.Marshal(map[string]any{"model": model, "messages": messages})
	if err != nil {
		return "", err
	}
	url := cmp.Or(os.Getenv("OPENAI_BASE_URL"), "https://api.openai.com/v1") + "/chat/completions"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+os.Getenv("OPENAI_API_KEY"))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(response.Body)
		return "", fmt.Errorf("the model: %s: %s", response.Status, text)
	}
	var answer struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return "", err
	}
	if len(answer.Choices) == 0 {
		return "", errors.New("the model: no answer")
	}
	return answer.Choices[0].Message.Content, nil
}

func argument(index int, otherwise string) string {
	if len(os.Args) > index {
		return os.Args[index]
	}
	return otherwise
}
