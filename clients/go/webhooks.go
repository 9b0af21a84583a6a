package recollect

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	pb "github.com/recollect-memory/recollect/clients/go/recollectv1"
)

// WebhookTolerance is how much the time of a webhook may usually differ from that of this machine.
const WebhookTolerance = 5 * time.Minute

// Webhook is what a webhook sends.
type Webhook struct {
	// Subscription is the name of the subscription.
	Subscription string
	// Events are 1 to 100 events, as [Subscriptions.Events] returns them.
	Events []*pb.SubscriptionEvent
	// DroppedCount is the number of events that were lost before these.
	DroppedCount int64
}

// VerifyWebhook checks that a request is a webhook of this server, by Standard Webhooks, and
// returns what it sends. Answer 401 to a request that VerifyWebhook refuses.
//
// The body is that of the request as it was received, and the secret that of the subscription:
// whsec_…. It is an error if the request is not signed with the secret, or if its time differs by
// more than tolerance from this machine's; use [WebhookTolerance].
func VerifyWebhook(header http.Header, body []byte, secret string, tolerance time.Duration) (*Webhook, error) {
	timestamp := header.Get("webhook-timestamp")
	seconds, err := strconv.ParseUint(timestamp, 10, 62)
	if err != nil {
		return nil, errors.New("recollect: the request has no webhook-timestamp")
	}
	if time.Since(time.Unix(int64(seconds), 0)).Abs() > tolerance {
		return nil, errors.New("recollect: the webhook is too old, or a clock is wrong")
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) == 0 {
		return nil, errors.New("recollect: the secret is not whsec_ and base64")
	}
	code := hmac.New(sha256.New, key)
	fmt.Fprintf(code, "%s.%s.%s", header.Get("webhook-id"), timestamp, body)
	expected := base64.StdEncoding.EncodeToString(code.Sum(nil))
	for _, signature := range strings.Fields(header.Get("webhook-signature")) {
		version, value, _ := strings.Cut(signature, ",")
		if version == "v1" && hmac.Equal([]byte(value), []byte(expected)) {
			return readWebhook(body)
		}
	}
	return nil, errors.New("recollect: the webhook is not signed with this secret")
}

func readWebhook(body []byte) (*Webhook, error) {
	var sent struct {
		Subscription string
		Events       []map[string]any
		DroppedCount int64 `json:"dropped_count"`
	}
	if err := FromJSON(string(body), &sent); err != nil {
		return nil, err
	}
	webhook := &Webhook{Subscription: sent.Subscription, DroppedCount: sent.DroppedCount}
	// Fields and actions of newer servers are left out.
	reader := protojson.UnmarshalOptions{DiscardUnknown: true}
	for _, fields := range sent.Events {
		if action, ok := fields["action"].(string); ok {
			fields["action"] = "TRANSACTION_ACTION_" + strings.ToUpper(action)
		}
		text, err := json.Marshal(fields)
		event := &pb.SubscriptionEvent{}
		if err == nil {
			err = reader.Unmarshal(text, event)
		}
		if err != nil {
			return nil, fmt.Errorf("recollect: an event of the webhook: %w", err)
		}
		webhook.Events = append(webhook.Events, event)
	}
	return webhook, nil
}
