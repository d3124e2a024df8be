package devices

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/onefold/onefold/internal/lineprotocol"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/payload"
)

// linesRequest is a write request of InfluxDB 2 clients.
type linesRequest struct {
	Authorization   string `header:"Authorization" doc:"Token or Bearer, with a device token, or with a key of the fleet with scope ingest or write."`
	ContentEncoding string `header:"Content-Encoding" doc:"gzip or none."`
	Bucket          string `query:"bucket" doc:"The fleet. Optional with a device token or a fleet key."`
	Org             string `query:"org" doc:"Ignored."`
	Precision       string `query:"precision" doc:"Unit of timestamps: ns, us, ms or s. Default: ns."`
	RawBody         []byte `contentType:"text/plain"`
}

// oldLinesRequest is a write request of InfluxDB 1 clients.
type oldLinesRequest struct {
	Authorization   string `header:"Authorization"`
	ContentEncoding string `header:"Content-Encoding"`
	Database        string `query:"db" doc:"The fleet."`
	User            string `query:"u" doc:"User name of an InfluxDB 1 client."`
	Password        string `query:"p" doc:"The token or key, if it is not in a header."`
	Precision       string `query:"precision" doc:"ns, u, ms, s, m or h. Default: ns."`
	RawBody         []byte `contentType:"text/plain"`
}

func (s *Service) lineRoutes(api huma.API, mux *http.ServeMux) {
	op := huma.Operation{
		OperationID: "write-lines", Method: http.MethodPost, Path: "/api/v2/write", DefaultStatus: http.StatusNoContent,
		MaxBodyBytes: maxBody, BodyReadTimeout: ingestFor, SkipValidateBody: true,
		Summary: "Ingest readings in InfluxDB line protocol",
		Description: "Compatible with InfluxDB 2, so that Telegraf and InfluxDB clients work unchanged; up to 20,000 lines. A line is a reading of the device named by its tag `device`, `device_id` or `host`; " +
			"field `f` of measurement `m` becomes the metric `m.f` (`m` for a field named value), with the other tags in braces, as in `cpu.idle{cpu=cpu0}`, unless the fleet lists them as property tags. Lines with the same measurement, tags and time are one reading. " +
			"Returns 204 once all lines are durable. If some lines are rejected, the status is 400, the message gives their numbers, and the others are stored. " +
			"429 if a device sends faster than its fleet allows: send everything again after Retry-After. Stored readings count once.",
		Tags: []string{"ingest"}, Errors: []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusTooManyRequests},
	}
	old := op
	op.Middlewares = huma.Middlewares{refuseLong(false)}
	huma.Register(api, middleware.Guard(middleware.ForAnyone, op), func(ctx context.Context, in *linesRequest) (*huma.StreamResponse, error) {
		token, _ := tokenOf(in.Authorization)
		return s.writeLines(ctx, token, in.Bucket, in.Precision, in.ContentEncoding, in.RawBody).answer(false), nil
	})
	old.OperationID, old.Path, old.Hidden, old.Middlewares = "write-lines-v1", "/write", true, huma.Middlewares{refuseLong(true)}
	huma.Register(api, middleware.Guard(middleware.ForAnyone, old), func(ctx context.Context, in *oldLinesRequest) (*huma.StreamResponse, error) {
		fleet, _, _ := strings.Cut(in.Database, "/") // the rest names a retention policy of InfluxDB
		return s.writeLines(ctx, oldToken(in), fleet, in.Precision, in.ContentEncoding, in.RawBody).answer(true), nil
	})
	for _, path := range []string{"GET /ping", "GET /api/v2/ping"} {
		mux.HandleFunc(path, pong)
	}
	mux.HandleFunc("GET /health", healthy)
	mux.HandleFunc("POST /query", created)
}

// drained is how many bytes of a rejected body are read: a client that is still sending may
// otherwise miss the response. InfluxDB clients send at most 50 MB.
const drained = 64 << 20

// refuseLong rejects requests that announce a body that is too long, in the response format of
// their clients.
func refuseLong(old bool) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		r, _ := humago.Unwrap(ctx)
		if r.ContentLength < maxBody {
			next(ctx)
			return
		}
		if err := ctx.SetReadDeadline(time.Now().Add(ingestFor)); err == nil {
			_, _ = io.CopyN(io.Discard, r.Body, drained) // the response is the same whatever the error
		}
		w := written{status: http.StatusRequestEntityTooLarge, code: codes[http.StatusRequestEntityTooLarge], message: tooLong}
		w.answer(old).Body(ctx)
	}
}

// oldToken returns the token of an InfluxDB 1 client, which may send it as a password.
func oldToken(in *oldLinesRequest) string {
	if token, ok := tokenOf(in.Authorization); ok {
		return token
	}
	if basic, ok := strings.CutPrefix(in.Authorization, "Basic "); ok {
		text, err := base64.StdEncoding.DecodeString(basic)
		if _, password, ok := strings.Cut(string(text), ":"); ok && err == nil {
			return password
		}
	}
	return in.Password
}

// written is the response to a write of lines.
type written struct {
	status  int
	code    string // InfluxDB's error code
	message string
	wait    time.Duration
	after   string // when to retry, as given by an error; "" if it gives none
	lines   []refusedLine
}

// refusedLine is a line that was not stored.
type refusedLine struct {
	Line   int              `json:"line"`
	Reason telemetry.Reason `json:"reason"`
	Detail string           `json:"detail"`
}

// badLine is the reason for a line that cannot be parsed.
const badLine telemetry.Reason = "bad_line"

// writeLines ingests the lines of both versions of the protocol. A token that belongs to another
// fleet than the bucket gets 404, as InfluxDB answers for an unknown bucket.
func (s *Service) writeLines(ctx context.Context, token, fleet, precision, encoding string, body []byte) written {
	unit, ok := lineprotocol.Unit(precision)
	if !ok {
		return written{status: http.StatusBadRequest, code: "invalid", message: fmt.Sprintf("precision %.20q: use ns, us, ms or s", precision)}
	}
	from, err := s.identify(ctx, token)
	if err == nil && fleet != "" && from.fleetID != "" && fleet != from.fleetID {
		return written{status: http.StatusNotFound, code: "not found", message: fmt.Sprintf("bucket %.64q not found: the token belongs to another fleet", fleet)}
	}
	if err == nil {
		body, err = plainBody(body, encoding)
	}
	if err != nil {
		return s.failed(ctx, err)
	}
	if from.fleetID == "" {
		from.fleetID = fleet
	}
	lines, err := payload.Lines{Unit: unit, Device: from.deviceID, DeviceTags: s.o.DeviceTags}.Parse(body)
	if err != nil {
		return s.failed(ctx, err)
	}
	lines = payload.Unite(lines)
	became, err := s.take(ctx, from, len(lines), func(i int) (telemetry.Incoming, error) { return lines[i].Incoming, lines[i].Err })
	if err != nil {
		return s.failed(ctx, err)
	}
	return judge(lines, became)
}

// judge combines many outcomes into one response.
func judge(lines []payload.Line, became []telemetry.Outcome) written {
	if wait := retryAfter(became); wait > 0 {
		return written{status: http.StatusTooManyRequests, code: "too many requests", message: "too many readings per minute for a device of this fleet: send everything again later, stored readings count once", wait: wait}
	}
	w, sent := written{status: http.StatusNoContent}, 0
	for i := range became {
		sent += 1 + len(lines[i].Also)
		o := &became[i]
		if o.Status != telemetry.Rejected {
			continue
		}
		reason := o.Reason
		if lines[i].Err != nil {
			reason = badLine
		}
		for _, number := range append([]int{lines[i].Number}, lines[i].Also...) {
			w.lines = append(w.lines, refusedLine{number, reason, o.Detail})
		}
	}
	if len(w.lines) > 0 {
		slices.SortFunc(w.lines, func(a, b refusedLine) int { return cmp.Compare(a.Line, b.Line) })
		w.status, w.code, w.message = http.StatusBadRequest, "invalid", partial(w.lines, sent)
		w.lines = w.lines[:min(len(w.lines), maxNamed)]
	}
	return w
}

// How many rejected lines a response lists, and how many its message names.
const maxNamed, maxTold = 1000, 20

func partial(rejected []refusedLine, of int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "partial write: %d of %d lines were rejected, the others are stored: ", len(rejected), of)
	for i, r := range rejected {
		if i == maxTold {
			fmt.Fprintf(&b, "; and %d more", len(rejected)-i)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "line %d: %s", r.Line, r.Detail)
	}
	return b.String()
}

// codes maps statuses to InfluxDB's error codes.
var codes = map[int]string{
	http.StatusBadRequest: "invalid", http.StatusUnauthorized: "unauthorized", http.StatusForbidden: "forbidden", http.StatusNotFound: "not found",
	http.StatusRequestEntityTooLarge: "request too large", http.StatusUnsupportedMediaType: "invalid", http.StatusTooManyRequests: "too many requests",
	http.StatusServiceUnavailable: "unavailable",
}

// failed returns the response for an error after which nothing is known to be stored.
func (s *Service) failed(ctx context.Context, err error) written {
	p := new(huma.ErrorModel)
	if !errors.As(err, &p) {
		err = s.mw.Error(ctx, err)
		errors.As(err, &p)
	}
	w := written{status: p.Status, code: codes[p.Status], message: p.Detail}
	if h := huma.HeadersError(nil); errors.As(err, &h) {
		w.after = h.GetHeaders().Get("Retry-After")
	}
	if w.code == "" {
		w.code = "internal error"
	}
	return w
}

// answer writes the response in the format of InfluxDB 2, or 1.
func (w written) answer(old bool) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		ctx.SetHeader("X-Influxdb-Version", influxVersion)
		if w.wait > 0 {
			ctx.SetHeader("Retry-After", seconds(w.wait))
		} else if w.after != "" {
			ctx.SetHeader("Retry-After", w.after)
		}
		if w.status == http.StatusNoContent {
			ctx.SetStatus(w.status)
			return
		}
		ctx.SetHeader("Content-Type", "application/json")
		if w.status == http.StatusUnauthorized {
			ctx.SetHeader("WWW-Authenticate", `Token realm="onefold"`)
		}
		ctx.SetStatus(w.status)
		_ = middleware.PlainJSON(ctx.BodyWriter()).Encode(w.form(old)) // the client may be gone; ignore the error
	}}
}

func (w written) form(old bool) any {
	if old {
		return struct {
			Error string `json:"error"`
		}{w.message}
	}
	return struct {
		Code    string        `json:"code"`
		Message string        `json:"message"`
		Lines   []refusedLine `json:"lines,omitempty"`
	}{w.code, w.message, w.lines}
}

// influxVersion is the version of InfluxDB that clients are told when they ask before they write.
const influxVersion = "v2.7.0"

func pong(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("X-Influxdb-Build", "onefold")
	w.Header().Set("X-Influxdb-Version", influxVersion)
	w.WriteHeader(http.StatusNoContent)
}

func healthy(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"name":"onefold","message":"ready for writes","status":"pass","checks":[],"version":"` + influxVersion + `","commit":""}` + "\n"))
}

// created answers the one statement that InfluxDB 1 clients send before they write.
func created(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Influxdb-Version", influxVersion)
	r.Body = http.MaxBytesReader(w, r.Body, middleware.MaxSmallBody)
	if q := strings.ToUpper(strings.TrimSpace(r.FormValue("q"))); strings.HasPrefix(q, "CREATE DATABASE") {
		_, _ = w.Write([]byte(`{"results":[{"statement_id":0}]}` + "\n"))
		return
	}
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write([]byte(`{"error":"nothing can be asked here; GET /docs lists the API"}` + "\n"))
}
