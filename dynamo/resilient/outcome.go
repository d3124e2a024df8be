package resilient

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/aws/smithy-go"

	"github.com/onefold/onefold/dynamo"
)

// outcome is what an attempt says of the store.
type outcome int

const (
	answered  outcome = iota // the store did what was asked, or refused it for what it is
	throttled                // it refused it for its rate
	down                     // it did not answer in time, or with an error of its own: what happened is not known
	ended                    // the caller gave up
)

// longEnough is how long a store was waited for when a caller's deadline tells something of the store, too: else one that hangs
// would never be found out by callers who have less time than an answer may take.
const longEnough = time.Second

// outcomeOf judges an attempt that a caller waited for, and for how long.
func outcomeOf(ctx context.Context, waited time.Duration, err error) outcome {
	switch {
	case err == nil:
		return answered
	case errors.Is(ctx.Err(), context.DeadlineExceeded) && waited >= longEnough:
		return down
	case ctx.Err() != nil:
		return ended
	case dynamo.IsThrottle(err), cancelledForRate(err):
		return throttled
	case serverSide(err):
		return down
	}
	return answered
}

// serverSide reports whether an error is of the store or of the way to it.
func serverSide(err error) bool {
	if status := interface{ HTTPStatusCode() int }(nil); errors.As(err, &status) && status.HTTPStatusCode() >= http.StatusInternalServerError {
		return true // of whatever kind: a proxy's has no code
	}
	switch dynamo.Code(err) {
	case "InternalServerError", "InternalServerErrorException", "InternalFailure", "ServiceUnavailable", "ServiceUnavailableException":
		return true
	case "":
		var serialization *smithy.SerializationError
		var params *smithy.InvalidParamsError
		return !errors.As(err, &serialization) && !errors.As(err, &params) // what was never sent says nothing of the store
	}
	var api smithy.APIError
	return errors.As(err, &api) && api.ErrorFault() == smithy.FaultServer
}

// cancelledForRate reports whether a transaction was cancelled because of throttling, and of nothing that stays.
func cancelledForRate(err error) bool {
	reasons, _ := dynamo.CancellationReasons(err)
	rate := false
	for _, r := range reasons {
		switch code := deref(r.Code); {
		case code == "" || code == "None":
		case isRateCode(code):
			rate = true
		default:
			return false
		}
	}
	return rate
}

func isRateCode(code string) bool {
	return code == "ThrottlingError" || code == "ProvisionedThroughputExceeded" || code == "RequestLimitExceeded"
}

// neverSent reports whether no connection was made: nothing has happened.
func neverSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
