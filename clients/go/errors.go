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
	// Message is what the server says about the error.
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

	status *status.Status
	cause  error
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
