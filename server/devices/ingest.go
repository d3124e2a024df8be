package devices

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/payload"
)

const (
	maxBody   = 8 << 20 // maximum size of readings in bytes, before and after decompression
	ingestFor = 30 * time.Second
)

// tooLong is the message for a body of more than maxBody.
var tooLong = fmt.Sprintf("The body is larger than %d MiB. Split it into several requests.", maxBody>>20)

// sender is the authenticated source of readings: a device, or the holder of a key for one fleet or
// for all.
type sender struct {
	deviceID string // "": not a single device
	fleetID  string // "": any fleet
}

// identify authenticates the sender. Errors: problems, and those of the store.
func (s *Service) identify(ctx context.Context, token string) (sender, error) {
	if !accounts.IsKey(token) {
		d, err := s.o.Collector.Authenticate(ctx, token)
		return sender{d.DeviceID, d.FleetID}, err
	}
	key, err := s.mw.SenderKey(ctx, token)
	if errors.Is(err, accounts.ErrDenied) {
		return sender{}, telemetry.ErrToken
	}
	if err != nil {
		return sender{}, err
	}
	fleet, ok := sendsFor(key)
	if !ok {
		return sender{}, middleware.Problem(http.StatusForbidden, "forbidden", "This key may not send readings. Create a key of the fleet with scope ingest.")
	}
	return sender{fleetID: fleet}, nil
}

// sendsFor returns the fleet that a key's holder may send readings for, or "" for all fleets; ok is
// false if none.
func sendsFor(key accounts.Key) (fleetID string, ok bool) {
	fleetID, ok = accounts.FleetOf(key.Site)
	return fleetID, (ok || key.Site == accounts.AllSites) && key.Scope != accounts.Read
}

type readingsRequest struct {
	Authorization   string `header:"Authorization" doc:"Bearer with a device token, or with a key of the fleet with scope ingest or write."`
	ContentEncoding string `header:"Content-Encoding" doc:"gzip or none."`
	RawBody         []byte `contentType:"application/json"`
}

type readingsAnswer struct {
	Status     int
	RetryAfter string `header:"Retry-After"`
	Body       struct {
		Outcomes []telemetry.Outcome `json:"outcomes" doc:"One per reading, in order."`
		Now      int64               `json:"now" doc:"The server's clock, in milliseconds since 1970."`
	}
}

func (s *Service) ingestRoutes(api huma.API) {
	huma.Register(api, middleware.Guard(middleware.ForAnyone, huma.Operation{
		OperationID: "ingest-readings", Method: http.MethodPost, Path: "/api/readings", DefaultStatus: http.StatusAccepted,
		MaxBodyBytes: maxBody, BodyReadTimeout: ingestFor, SkipValidateBody: true,
		Summary: "Ingest readings",
		Description: `One reading, or an array of up to 5,000:

    {"device": "boiler-1", "at": "2026-05-12T14:00:00.250Z", "seq": 17,
     "values": {"temperature": 71.25, "valve": "open", "alarm": false}, "units": {"temperature": "C"}}

Only values are required, and with a key device. ` + "`at`" + ` may be milliseconds since 1970. A device's token stands for that device alone. ` +
			"Returns 202 once the outcome of each reading is decided. `stored`, `duplicate` and `late` readings are durable. So are `queued` readings, which are stored when the table can be reached again. `rejected` readings have a reason; sending them " +
			"again does not help. If some arrived faster than the fleet allows (`too_fast`), the status is 429: send all or just those again after Retry-After. Stored readings count once.",
		Tags: []string{"ingest"}, Errors: []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests},
	}), s.ingestReadings)
}

func (s *Service) ingestReadings(ctx context.Context, in *readingsRequest) (*readingsAnswer, error) {
	token, _ := tokenOf(in.Authorization)
	from, err := s.identify(ctx, token)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	body, err := plainBody(in.RawBody, in.ContentEncoding)
	if err != nil {
		return nil, err
	}
	readings, err := payload.Parse(body, from.deviceID)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	became, err := s.take(ctx, from, len(readings), func(i int) (telemetry.Incoming, error) { return readings[i].Incoming, readings[i].Err })
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := &readingsAnswer{Status: http.StatusAccepted}
	answer.Body.Now, answer.Body.Outcomes = s.mw.Clock().UnixMilli(), became
	if wait := retryAfter(became); wait > 0 {
		answer.Status, answer.RetryAfter = http.StatusTooManyRequests, seconds(wait)
	}
	return answer, nil
}

// take stores n readings and returns the outcome of each. If reading(i) returns an error, reading i
// is rejected.
func (s *Service) take(ctx context.Context, from sender, n int, reading func(int) (telemetry.Incoming, error)) ([]telemetry.Outcome, error) {
	// Readings are stored even if the client disconnects.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ingestFor)
	defer cancel()
	outcomes := make([]telemetry.Outcome, n)
	readings, of := make([]telemetry.Incoming, 0, n), make([]int, 0, n)
	for i := range n {
		r, err := reading(i)
		switch {
		case err != nil:
			outcomes[i] = telemetry.Outcome{Status: telemetry.Rejected, Reason: telemetry.BadValue, Detail: err.Error()}
		case from.deviceID != "" && r.DeviceID != from.deviceID:
			outcomes[i] = telemetry.Outcome{Status: telemetry.Rejected, Reason: notYours, Detail: "the token belongs to another device"}
		default:
			r.FleetID = from.fleetID
			readings, of = append(readings, r), append(of, i)
		}
	}
	became, err := s.o.Collector.Ingest(ctx, readings)
	for i := range became {
		outcomes[of[i]] = became[i]
	}
	s.metrics.count(outcomes)
	s.tail.publish(readings, became)
	return outcomes, err
}

// notYours is the reason for rejecting a reading that a device sends for another.
const notYours telemetry.Reason = "other_device"

// retryAfter returns how long to wait before sending readings again that were too fast, or 0 if
// none were.
func retryAfter(outcomes []telemetry.Outcome) (wait time.Duration) {
	for i := range outcomes {
		if outcomes[i].Reason == telemetry.TooFast {
			wait += max(outcomes[i].RetryAfter, time.Millisecond)
		}
	}
	return wait
}

// seconds formats a Retry-After header, at most a minute: by then, more readings are allowed.
func seconds(wait time.Duration) string {
	return strconv.Itoa(int(min(wait, time.Minute)/time.Second) + 1)
}

// tokenOf returns the token of an Authorization header, with the scheme of HTTP (Bearer) or of
// InfluxDB (Token).
func tokenOf(header string) (string, bool) {
	scheme, token, ok := strings.Cut(strings.TrimSpace(header), " ")
	return strings.TrimSpace(token), ok && (strings.EqualFold(scheme, "Bearer") || strings.EqualFold(scheme, "Token"))
}

// plainBody decompresses a body. Its errors are problems.
func plainBody(body []byte, encoding string) ([]byte, error) {
	switch encoding {
	case "", "identity":
		return body, nil
	case "gzip":
	default:
		return nil, middleware.Problem(http.StatusUnsupportedMediaType, "unsupported_encoding", "Use gzip, or no Content-Encoding.")
	}
	in, err := gzip.NewReader(bytes.NewReader(body))
	if err == nil {
		body, err = io.ReadAll(io.LimitReader(in, maxBody+1))
	}
	switch {
	case err != nil:
		return nil, middleware.Problem(http.StatusBadRequest, "bad_request", "The body is not valid gzip: "+err.Error()+".")
	case len(body) > maxBody:
		return nil, middleware.Problem(http.StatusRequestEntityTooLarge, "body_too_large", tooLong)
	}
	return body, nil
}
