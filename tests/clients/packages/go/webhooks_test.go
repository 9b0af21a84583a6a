// Verifying webhooks.
package clients

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	recollect "github.com/recollect-memory/recollect/clients/go"
	pb "github.com/recollect-memory/recollect/clients/go/recollectv1"
)

// The vector of the reference implementations of Standard Webhooks.
const (
	secret        = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	vectorBody    = `{"test": 2432232314}`
	vectorMAC     = "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	century       = 100 * 365 * 24 * time.Hour
	headerID      = "Webhook-Id"
	headerTime    = "Webhook-Timestamp"
	headerSigning = "Webhook-Signature"
)

func vector() http.Header {
	return http.Header{
		headerID:      {"msg_p5jXN8AQM9LWM0D4loKWxJek"},
		headerTime:    {"1614265330"},
		headerSigning: {"v1,AAAA v1," + vectorMAC},
	}
}

// signed returns the headers of a webhook that is sent at a time.
func signed(t *testing.T, body string, at time.Time) http.Header {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	check(t, err)
	seconds := strconv.FormatInt(at.Unix(), 10)
	code := hmac.New(sha256.New, key)
	fmt.Fprintf(code, "1.%s.%s", seconds, body)
	return http.Header{
		headerID:      {"1"},
		headerTime:    {seconds},
		headerSigning: {"v1," + base64.StdEncoding.EncodeToString(code.Sum(nil))},
	}
}

func TestASignedWebhookIsRead(t *testing.T) {
	_, err := recollect.VerifyWebhook(vector(), []byte(vectorBody), secret, century)
	check(t, err)

	body := `{"subscription": "crm", "dropped_count": 3, "events": [
		{"event_id": "7", "action": "append_messages", "user_id": "ada", "item_count": 2, "create_time": "2026-11-30T09:00:00Z"},
		{"event_id": "8", "action": "of_a_newer_server", "field_of_a_newer_server": 1}]}`
	webhook, err := recollect.VerifyWebhook(signed(t, body, time.Now()), []byte(body), secret, recollect.WebhookTolerance)
	check(t, err)
	equal(t, webhook.Subscription, "crm")
	equal(t, webhook.DroppedCount, int64(3))
	equal(t, len(webhook.Events), 2)
	event := webhook.Events[0]
	equal(t, event.GetAction(), pb.TransactionAction_TRANSACTION_ACTION_APPEND_MESSAGES)
	equal(t, []any{event.GetEventId(), event.GetUserId(), event.GetItemCount()}, []any{"7", "ada", int64(2)})
	equal(t, event.GetCreateTime().AsTime(), time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC))
	equal(t, webhook.Events[1].GetAction(), pb.TransactionAction_TRANSACTION_ACTION_UNSPECIFIED)
}

func TestARequestThatIsNotSignedWithTheSecretIsRefused(t *testing.T) {
	for _, test := range []struct{ header, value, body, secret string }{
		{body: vectorBody + " ", secret: secret},
		{body: vectorBody, secret: "whsec_AAAA"},
		{body: vectorBody, secret: "whsec_~"},
		{body: vectorBody, secret: ""},
		{headerID, "another", vectorBody, secret},
		{headerTime, "1614265331", vectorBody, secret},
		{headerTime, "soon", vectorBody, secret},
		{headerTime, "+1614265330", vectorBody, secret},
		{headerTime, "", vectorBody, secret},
		{headerSigning, "v2," + vectorMAC, vectorBody, secret},
		{headerSigning, vectorMAC, vectorBody, secret},
		{headerSigning, "", vectorBody, secret},
	} {
		header := vector()
		if test.header != "" {
			header.Set(test.header, test.value)
		}
		_, err := recollect.VerifyWebhook(header, []byte(test.body), test.secret, century)
		if err == nil {
			t.Fatalf("%+v was taken", test)
		}
	}
}

func TestAWebhookOfAnotherTimeIsRefused(t *testing.T) {
	for age, taken := range map[time.Duration]bool{
		4 * time.Minute: true, -4 * time.Minute: true, 6 * time.Minute: false, -6 * time.Minute: false,
	} {
		header := signed(t, "{}", time.Now().Add(-age))
		_, err := recollect.VerifyWebhook(header, []byte("{}"), secret, recollect.WebhookTolerance)
		equal(t, err == nil, taken)
		if !taken {
			says(t, err, "too old")
		}
	}
}
