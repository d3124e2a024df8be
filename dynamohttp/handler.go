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

// Backend is what a Handler serves. When it also is a dynamo.Statements, dynamo.Tags or dynamo.Limits, their operations
// are served, too; without, they are unknown operations.
type Backend interface {
	dynamo.API
	dynamo.Streams
}

// Options configure a Handler. The zero value serves everybody whose requests have the form of signed ones.
type Options struct {
	Region   string                // named by the health answer and asked of credentials; default "us-east-1"
	Keys     map[string]string     // access key ids and their secrets; default: signatures are read, not verified
	Origins  []string              // web origins whose pages may call, beside local ones; with Keys everyone may
	Timeout  time.Duration         // how long an operation may take; default 1 min, negative: for ever
	Registry prometheus.Registerer // where metrics are registered; default: nowhere
	Logger   *slog.Logger          // told of internal errors, never of data; default: discards
	Clock    func() time.Time      // default time.Now

	// What requests may hold at once. A request beyond is answered ServiceUnavailable (HTTP 503), which SDKs send again
	// after a while.
	MaxRequests int   // requests under way; default 1,024, negative: no bound
	MaxBytes    int64 // of bodies and answers in memory, at least 16 MiB; default 128 MiB, negative: no bound
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

// Handler answers DynamoDB's protocol at "/". Make one with New.
type Handler struct {
	o          Options
	operations map[string]operation // by X-Amz-Target
	metrics    *metrics
	buffers    bufferPool
	load       load
	trusting   bool // requests need no signature: they come from the same process
}

// New makes a handler over a backend. It fails when the registry has its metrics already, when the largest request would
// not fit into MaxBytes, and when one of Origins is not an origin.
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

// serveOperation answers one operation and counts it.
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

// answer runs an operation and appends its answer to dst. A panic is an error of the backend's like any other.
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

// admit refuses what is no operation or not signed. What is no JSON at all is refused for that first.
func (h *Handler) admit(r *http.Request, op operation, from caller, body []byte) error {
	err := from.verify(r, body)
	switch origin := r.Header.Get("Origin"); {
	case !h.welcomes(origin):
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

// log tells of errors that are not the caller's.
func (h *Handler) log(ctx context.Context, id, operation string, err error) {
	if statusOf(err) == http.StatusInternalServerError && ctx.Err() == nil {
		h.o.Logger.ErrorContext(ctx, "internal error", "request", id, "operation", operation, "error", err)
	}
}

// nothing takes any JSON.
type nothing struct{}

// Deserialize implements smithy.Deserializable.
func (nothing) Deserialize(d smithy.ShapeDeserializer) error { return d.ReadDocument(nil, nil) }
