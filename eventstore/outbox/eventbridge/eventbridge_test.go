package eventbridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/eventbridge"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/outbox"
	"github.com/onefold/onefold/eventstore/outbox/eventbridge"
	"github.com/onefold/onefold/eventstore/subscription"
)

// entry is an entry of PutEvents as it is on the wire.
type entry struct {
	Source, DetailType, Detail, EventBusName string
	Time                                     float64
}

// service is an event bus that the SDK's client calls.
type service struct {
	*httptest.Server
	mu       sync.Mutex
	requests [][]entry
	accepted []string                                          // IDs of events
	whole    func(entries []entry) (status int, answer string) // answer to a request; 0: one per entry
	refuse   map[string]string                                 // error code by event ID
}

func newService(t *testing.T) (*service, *sdk.Client) {
	s := &service{refuse: map[string]string{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	credentials := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "key", SecretAccessKey: "secret"}, nil
	})
	return s, sdk.New(sdk.Options{Region: "eu-central-1", BaseEndpoint: &s.URL, Credentials: credentials, RetryMaxAttempts: 1})
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	var in struct{ Entries []entry }
	if err != nil || r.Header.Get("X-Amz-Target") != "AWSEvents.PutEvents" || json.Unmarshal(body, &in) != nil {
		w.WriteHeader(http.StatusTeapot)
		return
	}
	s.requests = append(s.requests, in.Entries)
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	if s.whole != nil {
		if status, answer := s.whole(in.Entries); status != 0 {
			w.WriteHeader(status)
			io.WriteString(w, answer)
			return
		}
	}
	var out struct {
		FailedEntryCount int
		Entries          []map[string]string
	}
	for i, e := range in.Entries {
		if code := s.refuse[idOf(e)]; code != "" {
			out.FailedEntryCount++
			out.Entries = append(out.Entries, map[string]string{"ErrorCode": code, "ErrorMessage": "because"})
			continue
		}
		s.accepted = append(s.accepted, idOf(e))
		out.Entries = append(out.Entries, map[string]string{"EventId": fmt.Sprint(i)})
	}
	json.NewEncoder(w).Encode(out)
}

func idOf(e entry) string {
	var detail struct{ ID string }
	if err := json.Unmarshal([]byte(e.Detail), &detail); err != nil {
		return err.Error()
	}
	return detail.ID
}

// feed returns events of orders. The ID of an event is its order, a dash and its number.
func feed(orders ...string) []eventstore.FeedEvent {
	var all []eventstore.FeedEvent
	seqs := map[string]int64{}
	for i, id := range orders {
		seqs[id]++
		all = append(all, eventstore.FeedEvent{Position: int64(i + 1), Event: eventstore.Event{
			EventKey: eventstore.EventKey{ID: eventstore.ID{Type: "order", ID: id}, Seq: seqs[id]}, EventID: fmt.Sprintf("%s-%d", id, seqs[id]),
			EventType: "OrderPaid", OccurredAt: time.Date(2026, 4, 20, 12, 0, 0, 0, time.UTC), Payload: eventstore.Payload(`{"total":12.5}`),
		}})
	}
	return all
}

func isPermanent(err error) bool {
	for want := fmt.Sprintf("%T", subscription.Permanent(nil)); err != nil; {
		if fmt.Sprintf("%T", err) == want {
			return true
		}
		u, ok := err.(interface{ Unwrap() error })
		if !ok {
			return false
		}
		err = u.Unwrap()
	}
	return false
}

func TestPutEvents(t *testing.T) {
	s, client := newService(t)
	publish := outbox.To(eventbridge.New(client, eventbridge.Options{Bus: "shop", Source: "shop.orders"}), outbox.Options{Source: "https://shop.example.com", TypePrefix: "com.example."})
	many := strings.Split("a b c d e f g h i j k a", " ")
	if n, err := publish(t.Context(), feed(many...)); n != len(many) || err != nil {
		t.Fatal(n, err)
	}
	if len(s.requests) != 2 || len(s.requests[0]) != 10 || idOf(s.requests[1][1]) != "a-2" {
		t.Errorf("%d requests", len(s.requests))
	}
	got := s.requests[0][0]
	got.Detail = ""
	if want := (entry{Source: "shop.orders", DetailType: "com.example.OrderPaid", EventBusName: "shop", Time: 1776686400}); got != want {
		t.Errorf("got %+v, not %+v", got, want)
	}
	if detail := s.requests[0][0].Detail; !strings.Contains(detail, `"specversion":"1.0"`) || !strings.Contains(detail, `"data":{"total":12.5}`) || !strings.Contains(detail, `"source":"https://shop.example.com"`) {
		t.Errorf("the detail is %s", detail)
	}
}

// TestPartialFailure refuses events in the middle of requests: those before them are done, and no
// later event of their aggregates is accepted.
func TestPartialFailure(t *testing.T) {
	for code, permanent := range map[string]bool{
		"ThrottlingException": false, "InternalFailure": false, "AccessDeniedException": false, "NotAuthorizedForSourceException": false,
		"InvalidArgument": true, "MalformedDetail": true,
	} {
		s, client := newService(t)
		s.refuse["b-1"] = code
		publish := outbox.To(eventbridge.New(client, eventbridge.Options{}), outbox.Options{})
		events := feed("a", "b", "c", "a", "b", "c")
		n, err := publish(t.Context(), events)
		if n != 1 || err == nil || !strings.Contains(err.Error(), code+": because") || isPermanent(err) != permanent {
			t.Errorf("%s: %d, %v", code, n, err)
		}
		if !slices.Equal(s.accepted, []string{"a-1", "c-1"}) {
			t.Errorf("accepted %v", s.accepted)
		}
		delete(s.refuse, "b-1")
		if n, err := publish(t.Context(), events[1:]); n != 5 || err != nil {
			t.Errorf("again: %d, %v", n, err)
		}
		if slices.Index(s.accepted, "b-1") > slices.Index(s.accepted, "b-2") || !slices.Contains(s.accepted, "b-2") {
			t.Errorf("accepted %v", s.accepted)
		}
	}
}

func TestWholeRequestFails(t *testing.T) {
	s, client := newService(t)
	s.whole = func([]entry) (int, string) {
		return http.StatusBadRequest, `{"__type":"ResourceNotFoundException","message":"no bus"}`
	}
	publish := outbox.To(eventbridge.New(client, eventbridge.Options{}), outbox.Options{})
	if n, err := publish(t.Context(), feed("a", "b")); n != 0 || err == nil || isPermanent(err) || len(s.requests) != 1 {
		t.Errorf("no bus: %d, %v, %d requests", n, err, len(s.requests))
	}
	s.whole = func(entries []entry) (int, string) {
		if slices.ContainsFunc(entries, func(e entry) bool { return idOf(e) == "b-1" }) {
			return http.StatusBadRequest, `{"__type":"ValidationException","message":"an entry is invalid"}`
		}
		return 0, ""
	}
	if n, err := publish(t.Context(), feed("a", "b", "c")); n != 1 || err == nil || isPermanent(err) || !slices.Equal(s.accepted, []string{"a-1"}) {
		t.Errorf("invalid request: %d, %v, accepted %v", n, err, s.accepted)
	}
	s.Close()
	if n, err := publish(t.Context(), feed("a")); n != 0 || err == nil || isPermanent(err) {
		t.Errorf("closed: %d, %v", n, err)
	}
}

func TestSizes(t *testing.T) {
	s, client := newService(t)
	publish := outbox.To(eventbridge.New(client, eventbridge.Options{}), outbox.Options{})
	events := feed("a", "b", "c", "d")
	for i, size := range []int{100 << 10, 100 << 10, 100 << 10, 256 << 10} {
		events[i].Payload = eventstore.Payload(`"` + strings.Repeat("x", size) + `"`)
	}
	if n, err := publish(t.Context(), events); n != 3 || !isPermanent(err) || !strings.Contains(err.Error(), "too large") {
		t.Errorf("%d, %v", n, err)
	}
	if len(s.requests) != 2 || len(s.requests[0]) != 2 || len(s.requests[1]) != 1 {
		t.Errorf("%d requests", len(s.requests))
	}
	if n, err := outbox.To(eventbridge.New(client, eventbridge.Options{MaxBytes: 1000 << 10}), outbox.Options{})(t.Context(), events); n != 4 || err != nil || len(s.requests) != 3 {
		t.Errorf("up to 1 MB: %d, %v", n, err)
	}
}
