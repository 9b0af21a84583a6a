package recollect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Error is the error of every failed call:
//
//	var failed *recollect.Error
//	if errors.As(err, &failed) && failed.Reason == "THREAD_NOT_FOUND" { … }
//
// errors.Is finds context.Canceled and context.DeadlineExceeded by Code.
type Error struct {
	// Code is the code of gRPC.
	Code codes.Code
	// Reason is the kind of error: a name of recollectv1.ErrorReason without its prefix, such
	// as THREAD_NOT_FOUND. Empty: the server did not answer.
	Reason string
	// Message is what happened and what to do.
	Message string
	// Metadata is what the server says about the reason, such as the head of HEAD_MOVED.
	Metadata map[string]string
	// Fields are the invalid fields of the request.
	Fields []FieldError
	// RetryAfter is the delay after which the server expects a retry to succeed. 0: it names
	// none.
	RetryAfter time.Duration
	// Attempts is the number of attempts that were made.
	Attempts int

	status  *status.Status
	cause   error
	advised bool
}

// FieldError is a field of a request with an invalid value.
type FieldError struct {
	// Field is its path, such as messages[2].parts[0].text.
	Field string
	// Description says what is wrong with its value.
	Description string
}

// Error returns the code, the reason, the message and the fields.
func (e *Error) Error() string {
	var text strings.Builder
	text.WriteString("recollect: " + codeName(e.Code))
	if e.Reason != "" {
		text.WriteString(" (" + e.Reason + ")")
	}
	text.WriteString(": " + e.Message)
	for _, field := range e.Fields {
		if !strings.Contains(e.Message, field.Field) {
			text.WriteString("; " + field.Field + ": " + field.Description)
		}
	}
	if e.Attempts > 1 {
		fmt.Fprintf(&text, " (after %d attempts)", e.Attempts)
	}
	return text.String()
}

// GRPCStatus returns the status with all details, for status.FromError and status.Code.
func (e *Error) GRPCStatus() *status.Status { return e.status }

// Unwrap returns the error of gRPC, or of the function that supplies the API key.
func (e *Error) Unwrap() error { return e.cause }

// Is reports whether target is the error of package context for this code.
func (e *Error) Is(target error) bool {
	switch e.Code {
	case codes.Canceled:
		return target == context.Canceled
	case codes.DeadlineExceeded:
		return target == context.DeadlineExceeded
	}
	return false
}

func newError(err error, attempts int) *Error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	state, ok := status.FromError(err)
	if !ok {
		state = status.FromContextError(err)
	}
	failure := &Error{
		Code: state.Code(), Message: state.Message(), Attempts: attempts, status: state, cause: err,
	}
	for _, detail := range state.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			failure.Reason, failure.Metadata = detail.GetReason(), detail.GetMetadata()
		case *errdetails.RetryInfo:
			failure.RetryAfter = detail.GetRetryDelay().AsDuration()
		case *errdetails.BadRequest:
			for _, violation := range detail.GetFieldViolations() {
				failure.Fields = append(failure.Fields,
					FieldError{Field: violation.GetField(), Description: violation.GetDescription()})
			}
		}
	}
	return failure
}

// advise adds what to do, which the server cannot say because it depends on this client.
func (e *Error) advise(target, method string) {
	if e.Code == codes.Unauthenticated {
		e.Message = strings.TrimSuffix(e.Message, ".") + ". Pass a key of this server with WithAPIKey, or set RECOLLECT_API_KEY"
	}
	if e.Reason != "" || e.advised {
		return
	}
	e.advised = true
	if advice := advice(e.Code, e.Message, target, method); advice != "" {
		// gRPC's own words come last: they are for those who know gRPC.
		e.Message = advice + " (" + e.Message + ")"
	}
}

func advice(code codes.Code, said, target, method string) string {
	switch code {
	case codes.Unavailable:
		switch {
		case strings.Contains(said, "does not look like a TLS handshake"):
			return fmt.Sprintf("The server at %s does not use TLS: use http:// in the address, or start it with a certificate", target)
		case strings.Contains(said, "certificate"):
			return fmt.Sprintf("The certificate of %s is not trusted: pass its authority with WithTLS", target)
		}
		return fmt.Sprintf("No Recollect server answers at %s: start one (`recollect dev`), or use WithAddress or set RECOLLECT_ADDR. "+
			"A server with TLS needs an address with https://, or WithTLS", target)
	case codes.DeadlineExceeded:
		return fmt.Sprintf("%s did not answer %s before the deadline of the call", target, method)
	case codes.Unimplemented:
		return fmt.Sprintf("The server at %s has no method %s: it is older than this client, or no Recollect server", target, method)
	}
	return ""
}

// codeName returns the name of a code as it is on the wire, such as NOT_FOUND.
func codeName(code codes.Code) string {
	var name strings.Builder
	previous := 'A'
	for _, letter := range code.String() {
		if previous >= 'a' && letter >= 'A' && letter <= 'Z' {
			name.WriteByte('_')
		}
		name.WriteRune(letter)
		previous = letter
	}
	return strings.ToUpper(name.String())
}
