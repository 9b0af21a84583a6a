// Metadata and data as JSON text.
package clients

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	recollect "github.com/recollect-memory/recollect/clients/go"
)

func TestValuesBecomeJSONAndJSONStaysAsItIs(t *testing.T) {
	type order struct {
		Number int64 `json:"number"`
	}
	for _, test := range []struct {
		value    any
		expected string
	}{
		{map[string]any{"order": int64(1234567890123456789)}, `{"order":1234567890123456789}`},
		{map[string]any{"price": json.Number("1.10")}, `{"price":1.10}`},
		{order{1234567890123456788}, `{"number":1234567890123456788}`},
		{`{"a":  1}`, `{"a":  1}`},
		{[]byte(`{"a":  1}`), `{"a":  1}`},
		{json.RawMessage(`{"a":  1}`), `{"a":  1}`},
	} {
		text, err := recollect.ToJSON(test.value)
		check(t, err)
		equal(t, text, test.expected)
	}
	for _, value := range []float64{math.NaN(), math.Inf(1)} {
		_, err := recollect.ToJSON(map[string]any{"price": value})
		if err == nil || !strings.Contains(err.Error(), "unsupported value") {
			t.Fatalf("%v: %v", value, err)
		}
	}
}

func TestNumbersAreReadWithAllTheirDigits(t *testing.T) {
	var open map[string]any
	check(t, recollect.FromJSON(`{"order": 1234567890123456789, "tags": ["a", 1.10]}`, &open))
	equal(t, open, map[string]any{
		"order": json.Number("1234567890123456789"),
		"tags":  []any{"a", json.Number("1.10")},
	})
	var typed struct{ Order int64 }
	check(t, recollect.FromJSON(`{"order": 1234567890123456789}`, &typed))
	equal(t, typed.Order, int64(1234567890123456789))
	check(t, recollect.FromJSON("", &typed))
	equal(t, typed.Order, int64(1234567890123456789))
	for _, text := range []string{"{", "{} {}"} {
		if recollect.FromJSON(text, &open) == nil {
			t.Fatalf("%s was read", text)
		}
	}
}
