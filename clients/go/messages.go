package recollect

import (
	"fmt"
	"strings"

	pb "github.com/recollect-memory/recollect/clients/go/recollectv1"
)

// Format is the message format of a provider's API, or plain text.
type Format = pb.ProviderFormat

// The formats of contexts, and of messages in [Provider].
const (
	// OpenAI is OpenAI chat completions and compatible APIs.
	OpenAI = pb.ProviderFormat_PROVIDER_FORMAT_OPENAI_CHAT
	// OpenAIResponses is OpenAI responses.
	OpenAIResponses = pb.ProviderFormat_PROVIDER_FORMAT_OPENAI_RESPONSES
	// Anthropic is Anthropic messages.
	Anthropic = pb.ProviderFormat_PROVIDER_FORMAT_ANTHROPIC_MESSAGES
	// Gemini is Gemini generateContent.
	Gemini = pb.ProviderFormat_PROVIDER_FORMAT_GEMINI
	// Text is plain text for completion models; for contexts alone.
	Text = pb.ProviderFormat_PROVIDER_FORMAT_TEXT
)

// AppendOption is a message to store, or says how messages are stored.
type AppendOption func(*pb.AppendMessagesRequest) error

// User is a message of the user. An empty text is refused, as by [SaidBy], [Assistant] and [System].
func User(text string) AppendOption { return message(pb.Role_ROLE_USER, text, "") }

// SaidBy is a message of one of several users of a conversation: at most 256 characters name the
// user. Facts in it belong to this user. An empty user and [NoUser] are refused: what the user of
// the session said is [User].
func SaidBy(user, text string) AppendOption {
	return func(r *pb.AppendMessagesRequest) error {
		if user == "" || user == NoUser {
			field := fmt.Sprintf("messages[%d].user_id", len(r.Messages))
			return invalid(field, "is no user: pass the id of the user, or use User for the user of the session")
		}
		return message(pb.Role_ROLE_USER, text, user)(r)
	}
}

// Assistant is an answer of the model.
func Assistant(text string) AppendOption { return message(pb.Role_ROLE_ASSISTANT, text, "") }

// System is an instruction to the model.
func System(text string) AppendOption { return message(pb.Role_ROLE_SYSTEM, text, "") }

func message(role pb.Role, text, user string) AppendOption {
	return func(r *pb.AppendMessagesRequest) error {
		if text == "" {
			return invalid(fmt.Sprintf("messages[%d]", len(r.Messages)), "the text is empty")
		}
		r.Messages = append(r.Messages, &pb.MessageInput{Role: role, Parts: textParts(text), UserId: user})
		return nil
	}
}

// Messages are messages with all fields of the contract.
func Messages(messages ...*pb.MessageInput) AppendOption {
	return func(r *pb.AppendMessagesRequest) error {
		r.Messages = append(r.Messages, messages...)
		return nil
	}
}

// Provider is messages in the format of a provider's API: each value is one message, a list of
// messages, a request or a response. A []byte, json.RawMessage or string is JSON; other values
// are marshaled. They cannot be combined with other messages.
func Provider(format Format, values ...any) AppendOption {
	return func(r *pb.AppendMessagesRequest) error {
		for _, value := range values {
			text, err := ToJSON(value)
			if err != nil {
				return fmt.Errorf("a message of %s: %w", format, err)
			}
			r.ProviderMessages = append(r.ProviderMessages, &pb.ProviderMessages{Format: format, Json: text})
		}
		return nil
	}
}

// RequestID is a UUID that makes a repetition of the append safe. Default: a new one for each
// call, which its retries share.
func RequestID(id string) AppendOption {
	return func(r *pb.AppendMessagesRequest) error {
		r.RequestId = id
		return nil
	}
}

// ExpectedHead is the expected head of the thread, by message_id or external_id; with another
// head, nothing is stored and the call fails with ABORTED. Empty: a thread without messages.
func ExpectedHead(id string) AppendOption {
	return func(r *pb.AppendMessagesRequest) error {
		r.ExpectedHead = &id
		return nil
	}
}

// TextOf returns the text of a stored or recalled message: its text parts, in order.
func TextOf(message interface{ GetParts() []*pb.Part }) string {
	var texts []string
	for _, part := range message.GetParts() {
		if text, ok := part.GetContent().(*pb.Part_Text); ok {
			texts = append(texts, text.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func textParts(text string) []*pb.Part {
	if text == "" {
		return nil
	}
	return []*pb.Part{{Content: &pb.Part_Text{Text: text}}}
}
