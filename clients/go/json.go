package recollect

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ToJSON returns a value as the JSON text that the contract has in metadata, data, patches and
// events. A string, a []byte and a json.RawMessage are JSON and returned as they are; other values
// are marshaled. Integers and a [json.Number] keep all digits. NaN and infinities are an error.
//
//	metadata, err := recollect.ToJSON(map[string]any{"order": 1138})
//	message := &recollectv1.MessageInput{Role: role, Parts: parts, Metadata: metadata}
func ToJSON(value any) (string, error) {
	switch value := value.(type) {
	case string:
		return value, nil
	case []byte:
		return string(value), nil
	case json.RawMessage:
		return string(value), nil
	}
	text, err := json.Marshal(value)
	return string(text), err
}

// FromJSON stores a JSON text of the contract in the value that into points to, such as a struct
// or a map[string]any. Where the type of a number is open, it becomes a [json.Number], which has
// all its digits. An empty text leaves the value as it is.
//
//	var metadata map[string]any
//	err := recollect.FromJSON(message.GetMetadata(), &metadata)
func FromJSON(text string, into any) error {
	if text == "" {
		return nil
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("recollect: %w", err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return errors.New("recollect: text after the JSON value")
	}
	return nil
}
