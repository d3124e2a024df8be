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

// outcome classifies what an attempt says about the store.
type outcome int

const (
	answered  outcome = iota // the store executed the request, or rejected it for its content
	throttled                // the store throttled the request
	down                     // no response in time, or an internal error; the effect is unknown
	ended                    // the caller gave up
)

// longEnough is the waiting time after which the expiry of a caller's deadline counts against the
// store. Otherwise callers with deadlines shorter than the timeout would never detect a hanging
// store.
const longEnough = time.Second

// outcomeOf returns the outcome of an attempt. waited is how long the caller has waited for it.
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

// serverSide reports whether an error comes from the store or the network.
func serverSide(err error) bool {
	if status := interface{ HTTPStatusCode() int }(nil); errors.As(err, &status) && status.HTTPStatusCode() >= http.StatusInternalServerError {
		return true // any kind: errors of proxies have no code
	}
	switch dynamo.Code(err) {
	case "InternalServerError", "InternalServerErrorException", "InternalFailure", "ServiceUnavailable", "ServiceUnavailableException":
		return true
	case "":
		var serialization *smithy.SerializationError
		var params *smithy.InvalidParamsError
		return !errors.As(err, &serialization) && !errors.As(err, &params) // a request that was never sent says nothing about the store
	}
	var api smithy.APIError
	return errors.As(err, &api) && api.ErrorFault() == smithy.FaultServer
}

// cancelledForRate reports whether a transaction was cancelled because of throttling, and for no
// permanent reason.
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

// neverSent reports whether no connection was made, so that the request had no effect.
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
