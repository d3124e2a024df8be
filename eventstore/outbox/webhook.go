package outbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/onefold/onefold/eventstore/subscription"
	"github.com/onefold/onefold/internal/backoff"
	"github.com/onefold/onefold/internal/webhook"
)

// ErrOptions is returned for invalid options of a destination.
var ErrOptions = errors.New("outbox: invalid options")

// WebhookOptions configures a Webhook.
type WebhookOptions struct {
	URL string // http or https, without a user name
	// Secrets sign each request, so that receivers can verify it: one signature per secret. To
	// replace a secret, send with both until all receivers have the new one. 1 to 10 of at least 24
	// bytes, see NewSecret.
	Secrets []string
	// Batch is the maximum number of events of a request, at most 1,000, in CloudEvents' batch
	// format. Default 0: one event per request, in structured mode.
	Batch      int
	BatchBytes int           // maximum size of a batch of several events, default 1 MiB
	Header     http.Header   // more headers, such as Authorization
	Private    bool          // also call private and loopback addresses
	Timeout    time.Duration // of a request with its response, default 10 s

	Now   func() time.Time                           // default time.Now
	Sleep func(context.Context, time.Duration) error // waits, or returns the context's error; default: a timer
}

const (
	maxSecrets    = 10
	minSecret     = 24 // bytes, of standardwebhooks.com
	maxBatch      = 1000
	maxRetryAfter = 5 * time.Minute
)

func (o *WebhookOptions) check() error {
	if problem := webhook.CheckURL(o.URL); problem != "" {
		return fmt.Errorf("%w: webhook: %s", ErrOptions, problem)
	}
	switch {
	case !o.Private && webhook.IsPrivate(o.URL):
		return fmt.Errorf("%w: webhook: %w: set Private to allow it", ErrOptions, webhook.ErrPrivate)
	case len(o.Secrets) == 0 || len(o.Secrets) > maxSecrets:
		return fmt.Errorf("%w: webhook: use 1 to %d secrets", ErrOptions, maxSecrets)
	case o.Batch < 0 || o.Batch > maxBatch:
		return fmt.Errorf("%w: webhook: use at most %d events per request", ErrOptions, maxBatch)
	}
	for _, s := range o.Secrets {
		if len(webhook.Key(s)) < minSecret {
			return fmt.Errorf("%w: webhook: use secrets of at least %d bytes", ErrOptions, minSecret)
		}
	}
	return nil
}

// NewSecret returns a random secret for webhooks.
func NewSecret() string { return webhook.NewSecret() }

// Webhook is a Destination that posts events as JSON, signed as standardwebhooks.com specifies. A
// response of 200 to 299 accepts a request. Responses of 400 to 499 that are about the event refuse
// it for good; a batch is then divided until the refused event is found. 410 also refuses for good.
// All other responses are retried: 408, 425, 429, and those about the sender or the URL, 401 to 405,
// 407 and 421, after which a corrected receiver gets every event. Redirects are not followed.
// Retry-After is respected by all partitions, up to five minutes.
//
// The header webhook-id of a request is the ID of its event, or a digest of its batch. It is safe
// for concurrent use.
type Webhook struct {
	o      WebhookOptions
	client *webhook.Client

	mu    sync.Mutex
	until time.Time // do not call before
}

// NewWebhook returns a webhook. Errors: ErrOptions.
func NewWebhook(o WebhookOptions) (*Webhook, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.BatchBytes <= 0 {
		o.BatchBytes = 1 << 20
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = backoff.For
	}
	return &Webhook{o: o, client: webhook.NewClient(webhook.Options{Private: o.Private, KeepAlive: true, Timeout: o.Timeout})}, nil
}

// Close closes idle connections.
func (w *Webhook) Close() { w.client.Close() }

// Send implements Destination.
func (w *Webhook) Send(ctx context.Context, events []Event) (accepted int, err error) {
	most := max(w.o.Batch, 1)
	for accepted < len(events) {
		n := w.fit(events[accepted:], most)
		err := w.post(ctx, events[accepted:accepted+n])
		code, refused := refusal(err)
		switch {
		case err == nil:
			accepted += n
		case refused && n > 1 && code != http.StatusGone:
			most = n / 2
		case refused:
			return accepted, subscription.Permanent(fmt.Errorf("outbox: webhook: %w", err))
		default:
			return accepted, fmt.Errorf("outbox: webhook: %w", err)
		}
	}
	return accepted, nil
}

// fit returns how many events, at least one, go into a request.
func (w *Webhook) fit(events []Event, most int) int {
	size := 0
	for n := range min(len(events), most) {
		const envelope = 1 << 10 // attributes, roughly
		if size += envelope + len(events[n].Data); size > w.o.BatchBytes && n > 0 {
			return n
		}
	}
	return min(len(events), most)
}

// refusal reports whether a request is refused for good.
func refusal(err error) (code int, refused bool) {
	var status *webhook.StatusError
	if !errors.As(err, &status) {
		return 0, false
	}
	switch status.Code {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests,
		http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusNotFound,
		http.StatusMethodNotAllowed, http.StatusProxyAuthRequired, http.StatusMisdirectedRequest:
		return status.Code, false
	}
	return status.Code, status.Code >= 400 && status.Code <= 499
}

// post sends one request. If the receiver has asked for a pause, it waits first.
func (w *Webhook) post(ctx context.Context, events []Event) error {
	if err := w.o.Sleep(ctx, w.pause()); err != nil {
		return err
	}
	id, body, form := events[0].ID, []byte(nil), StructuredType
	if w.o.Batch > 0 {
		body, form = batchJSON(events), BatchType
		digest := sha256.Sum256(body)
		id = "batch_" + hex.EncodeToString(digest[:16])
	} else {
		body = events[0].JSON()
	}
	now := w.o.Now()
	header := webhook.Header(form, id, now, body, w.o.Secrets...)
	for name, values := range w.o.Header {
		if name = http.CanonicalHeaderKey(name); header[name] == nil {
			header[name] = values
		}
	}
	err := w.client.Post(ctx, w.o.URL, body, header)
	var status *webhook.StatusError
	if errors.As(err, &status) {
		w.delay(now, status.RetryAfter)
	}
	return err
}

// pause returns how long to wait before the next request.
func (w *Webhook) pause() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.until.IsZero() {
		return 0
	}
	return w.until.Sub(w.o.Now())
}

// delay records a header Retry-After, which is in seconds or a date. Others are ignored.
func (w *Webhook) delay(now time.Time, header string) {
	after := time.Duration(0)
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		after = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(header); err == nil {
		after = at.Sub(now)
	}
	if after = min(after, maxRetryAfter); after <= 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if at := now.Add(after); at.After(w.until) {
		w.until = at
	}
}
