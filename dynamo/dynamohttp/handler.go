package dynamohttp

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/aws/smithy-go"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/dynamo/dynamojson"
)

// Backend is the API that a Handler serves. If it also implements dynamo.Statements, dynamo.Tags or
// dynamo.Limits, their operations are served too; otherwise they are unknown operations.
type Backend interface {
	dynamo.API
	dynamo.Streams
}

// Options configure a Handler. The zero value serves all requests that have the form of signed
// ones.
type Options struct {
	Region   string                // reported in health responses and required in credentials; default "us-east-1"
	Keys     map[string]string     // access key IDs and their secrets; default: signatures are parsed but not verified
	Origins  []string              // web origins whose pages may make requests, besides local ones; with Keys, all may
	Timeout  time.Duration         // maximum duration of an operation; default 1 min, negative: unlimited
	Registry prometheus.Registerer // registers the metrics; default: none
	Logger   *slog.Logger          // logs internal errors, never data; default: discards
	Clock    func() time.Time      // default time.Now

	// Limits on all current requests. Further requests get ServiceUnavailable (HTTP 503), which
	// SDKs retry after a while.
	MaxRequests int   // concurrent requests; default 1,024, negative: unlimited
	MaxBytes    int64 // bodies and responses in memory, at least 16 MiB; default 128 MiB, negative: unlimited
}

const (
	defaultRegion  = "us-east-1"
	defaultTimeout = time.Minute

	defaultMaxRequests = 1024
	defaultMaxBytes    = 128 << 20
)

func (o *Options) defaults() {
	if o.Region == "" {
		o.Region = defaultRegion
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.MaxRequests == 0 {
		o.MaxRequests = defaultMaxRequests
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = defaultMaxBytes
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
}

// Handler serves DynamoDB's protocol at "/". Use New to make one.
type Handler struct {
	o          Options
	operations map[string]operation // by X-Amz-Target
	metrics    *metrics
	buffers    bufferPool
	load       load
	trusting   bool // requests come from the same process and need no signature
}

// New returns a Handler for a backend. It returns an error if the registry already has its metrics,
// if MaxBytes is smaller than the largest request, or if an element of Origins is invalid.
func New(b Backend, o Options) (*Handler, error) {
	o.defaults()
	if o.MaxBytes >= 0 && o.MaxBytes < maxBody {
		return nil, fmt.Errorf("dynamohttp: MaxBytes is %d; a request may have %d", o.MaxBytes, maxBody)
	}
	for _, origin := range o.Origins {
		if err := CheckOrigin(origin); err != nil {
			return nil, fmt.Errorf("dynamohttp: %w", err)
		}
	}
	m := newMetrics()
	if o.Registry != nil {
		if err := m.register(o.Registry); err != nil {
			return nil, fmt.Errorf("dynamohttp: register metrics: %w", err)
		}
	}
	return newHandler(b, o, m), nil
}

func newHandler(b Backend, o Options, m *metrics) *Handler {
	return &Handler{o: o, operations: operationsOf(b), metrics: m, load: load{maxRequests: int64(o.MaxRequests), maxBytes: o.MaxBytes}}
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := newRequestID()
	w.Header().Set("X-Amzn-Requestid", id)
	h.shareWithPages(w, r)
	switch {
	case r.Method == http.MethodOptions && r.Header.Get("Origin") != "":
		answerPreflight(w, r)
	case r.URL.Path != "/" && r.URL.Path != "":
		writeUnknownPage(w)
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		writePlain(w, http.StatusOK, "healthy: dynamodb."+h.o.Region+".amazonaws.com ")
	case r.Method != http.MethodPost || !isJSON(r.Header.Get("Content-Type")):
		writeUnknownPage(w)
	default:
		h.serveOperation(w, r, id)
	}
}

// serveOperation executes one operation and counts it.
func (h *Handler) serveOperation(w http.ResponseWriter, r *http.Request, id string) {
	op := h.operations[r.Header.Get("X-Amz-Target")]
	done := h.metrics.begin(op.name, h.o.Clock)
	in, out := h.buffers.get(), h.buffers.get()
	defer h.buffers.put(in)
	defer h.buffers.put(out)
	holds, err := h.load.enter()
	defer holds.leave()
	var body []byte
	if err == nil {
		from := h.callerOf(r, "Host", "X-Amz-Target")
		if body, err = from.readBody(in, r, &holds); err == nil {
			*out, err = h.answer(r, op, from, body, *out)
		}
		*in = body
	}
	if err != nil {
		h.log(r.Context(), id, op.name, err)
		*out = appendError((*out)[:0], err)
	}
	holds.add(len(*out))
	status := statusOf(err)
	if status == http.StatusRequestEntityTooLarge {
		w.Header().Set("Connection", "close") // the rest of the body is not read
		w.WriteHeader(status)
	} else {
		writeBody(w, status, r.Header.Get("Content-Type"), *out)
	}
	done(codeOf(err), len(body), len(*out))
}

// answer executes an operation and appends its response to dst. A panic becomes an internal error.
func (h *Handler) answer(r *http.Request, op operation, from caller, body, dst []byte) (answer []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			h.metrics.panics.Inc()
			answer, err = dst, fmt.Errorf("dynamohttp: panic: %v\n%s", v, debug.Stack())
		}
	}()
	if err := h.admit(r, op, from, body); err != nil {
		return dst, err
	}
	ctx := r.Context()
	if h.o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, h.o.Timeout)
		defer cancel()
	}
	out, err := op.run(ctx, request{host: r.Host, body: body})
	if err != nil {
		return dst, err
	}
	return dynamojson.Append(dst, out), nil
}

// admit rejects unknown operations and requests that are not properly signed. Invalid JSON is
// reported first.
func (h *Handler) admit(r *http.Request, op operation, from caller, body []byte) error {
	err := from.verify(r, body)
	switch origin := r.Header.Get("Origin"); {
	case !h.allowsOrigin(origin):
		err = protocolError(codeDenied, "Pages of "+origin+" may not call this endpoint without access keys")
	case op.run == nil:
		err = errUnknownOperation(r.Header.Get("X-Amz-Target"))
	}
	if err != nil && len(body) > 0 {
		if syntax := dynamojson.Decode(body, nothing{}); syntax != nil {
			return syntax
		}
	}
	return err
}

// log logs internal errors.
func (h *Handler) log(ctx context.Context, id, operation string, err error) {
	if statusOf(err) == http.StatusInternalServerError && ctx.Err() == nil {
		h.o.Logger.ErrorContext(ctx, "internal error", "request", id, "operation", operation, "error", err)
	}
}

// nothing decodes any JSON and discards it.
type nothing struct{}

// Deserialize implements smithy.Deserializable.
func (nothing) Deserialize(d smithy.ShapeDeserializer) error { return d.ReadDocument(nil, nil) }
