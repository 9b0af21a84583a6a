package recollect

import (
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/recollect-memory/recollect/clients/go/recollectv1"
)

// NoUser stands for no user, where a conversation or memories belong to none, such as those of a
// public page. An empty user is refused instead, since it may be a look-up that failed: all whose
// look-up fails would share one conversation.
const NoUser = "\x00no user"

// userID returns the user of a request for a user as the caller names it.
func userID(user string) (string, error) {
	switch user {
	case NoUser:
		return "", nil
	case "":
		return "", invalid("user", "is empty: pass the id of the user, or NoUser for what belongs to no user")
	}
	return user, nil
}

// userRef returns the user of a request.
func userRef(app, user string) (*pb.UserRef, error) {
	id, err := userID(user)
	if err != nil {
		return nil, err
	}
	return &pb.UserRef{AppId: app, UserId: id}, nil
}

// invalid returns the error of a call that is refused before it is sent, as the server would
// refuse it.
func invalid(field, description string) error {
	state := status.New(codes.InvalidArgument, field+": "+description)
	detailed, err := state.WithDetails(
		&errdetails.ErrorInfo{Reason: "INVALID_FIELD", Domain: "recollect.dev"},
		&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: field, Description: description}}},
	)
	if err != nil {
		detailed = state
	}
	return newError(detailed.Err(), 1)
}
