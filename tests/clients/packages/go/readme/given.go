// Command readme runs the blocks of the README of clients/go, which tests/clients/readme adds to this
// package. They take these names for granted.
package main

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"log"
	"net/http"
	"time"

	recollect "github.com/recollect-memory/recollect/clients/go"
	"github.com/recollect-memory/recollect/clients/go/recollectv1"
)

const (
	question     = "What is my dog called?"
	answer       = "Your dog is called Pixel."
	questionJSON = `{"role": "user", "content": "What is my dog called?"}`
	responseJSON = `{"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Pixel."}]}`
	role         = recollectv1.Role_ROLE_USER
	schema       = `{"properties": {"substance": {"type": "string"}}, "additionalProperties": false}`
	secret       = "whsec_AAAA"
)

var (
	ctx    = context.Background()
	app    = "readme-" + rand.Text()
	client *recollect.Client
	memory *recollect.Session
	// A thread to delete.
	threadID string
	parts    = []*recollectv1.Part{{Content: &recollectv1.Part_Text{Text: question}}}
	stored   = &recollectv1.Message{Metadata: `{"order": 1138}`}
	// A webhook that is signed with the secret.
	body    = []byte(`{"subscription": "crm", "events": [{"event_id": "7"}], "dropped_count": 0}`)
	request = &http.Request{Header: http.Header{}}
	// The error of an append whose expected head is not the head.
	refused error
)

func init() {
	var err error
	client, err = recollect.New()
	check(err)
	memory = client.Session(app, "ada", "1")
	first, err := memory.Append(ctx, recollect.User(question))
	check(err)
	other, err := client.Session(app, "ada", "2").Append(ctx, recollect.User(question))
	check(err)
	threadID = other.ThreadId
	_, err = memory.Append(ctx, recollect.User(question))
	check(err)
	_, refused = memory.Append(ctx, recollect.User(question), func(r *recollectv1.AppendMessagesRequest) error {
		r.ExpectedHead = &first.Messages[0].MessageId
		return nil
	})
	seconds := fmt.Sprint(time.Now().Unix())
	code := hmac.New(sha256.New, make([]byte, 3))
	fmt.Fprintf(code, "1.%s.%s", seconds, body)
	request.Header.Set("webhook-id", "1")
	request.Header.Set("webhook-timestamp", seconds)
	request.Header.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(code.Sum(nil)))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
