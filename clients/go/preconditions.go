package recollect

import (
	"google.golang.org/protobuf/types/known/emptypb"

	pb "github.com/recollect-memory/recollect/clients/go/recollectv1"
)

// Etag is the precondition that what a call changes has this etag; with another one, nothing is
// changed and the call fails with ABORTED. *: it must exist.
func Etag(etag string) *pb.Precondition {
	return &pb.Precondition{State: &pb.Precondition_Etag{Etag: etag}}
}

// Absent is the precondition that what a call creates does not exist yet.
func Absent() *pb.Precondition {
	return &pb.Precondition{State: &pb.Precondition_Absent{Absent: &emptypb.Empty{}}}
}
