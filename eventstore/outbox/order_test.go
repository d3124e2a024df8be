package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/outbox"
	"github.com/onefold/onefold/eventstore/subscription"
)

var errRefused, errDown = errors.New("refused"), errors.New("down")

// consume handles events as a subscription does: it repeats what fails, and parks events whose error
// is permanent, with the later ones of their aggregates. It returns the parked ones.
func consume(t *rapid.T, handle subscription.Handler, events []eventstore.FeedEvent) (parked []string) {
	blocked := map[eventstore.ID]bool{}
	for attempts := 0; len(events) > 0; attempts++ {
		if blocked[events[0].ID] {
			parked, events = append(parked, events[0].EventID), events[1:]
			continue
		}
		n := slices.IndexFunc(events, func(e eventstore.FeedEvent) bool { return blocked[e.ID] })
		if n < 0 {
			n = len(events)
		}
		done, err := handle(t.Context(), events[:n])
		if done < 0 || done > n || err == nil && done < n || attempts > 1000 {
			t.Fatalf("%d of %d: %v", done, n, err)
		}
		events = events[done:]
		if isPermanent(err) {
			blocked[events[0].ID] = true
		}
	}
	return parked
}

// checkOrder checks that each event was accepted or parked, and that an aggregate's events were
// accepted in order, apart from repetitions.
func checkOrder(t *rapid.T, events []eventstore.FeedEvent, accepted, parked []string, poison func(string) bool) {
	at := map[string]int{}
	for i, id := range accepted {
		if _, repeated := at[id]; !repeated {
			at[id] = i
		}
		if poison(id) {
			t.Fatalf("%s was accepted", id)
		}
	}
	last, stopped := map[eventstore.ID]int{}, map[eventstore.ID]bool{}
	for _, e := range events {
		i, sent := at[e.EventID]
		stopped[e.ID] = stopped[e.ID] || poison(e.EventID)
		switch {
		case stopped[e.ID] != slices.Contains(parked, e.EventID):
			t.Fatalf("parked: %v, of %v", parked, e.EventID)
		case stopped[e.ID] == sent:
			t.Fatalf("%s: sent %v, behind a refused event %v", e.EventID, sent, stopped[e.ID])
		case sent && i < last[e.ID]:
			t.Fatalf("%s was accepted before an earlier event: %v", e.EventID, accepted)
		case sent:
			last[e.ID] = i
		}
	}
}

// draw returns random events of few aggregates, and which of them are always refused.
func draw(t *rapid.T) ([]eventstore.FeedEvent, func(string) bool) {
	events := feed(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}), 0, 40).Draw(t, "aggregates")...)
	bad := rapid.SliceOfN(rapid.SampledFrom([]string{"a-1", "a-5", "b-2", "c-3", "d-1"}), 0, 3).Draw(t, "refused")
	return events, func(id string) bool { return slices.Contains(bad, id) }
}

// TestConcurrentOrder sends random events to a service that refuses some of a request, and whose
// answers are lost at random.
func TestConcurrentOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events, poison := draw(t)
		var accepted []string
		most := rapid.IntRange(1, 12).Draw(t, "at once")
		destination := outbox.Concurrent(most, func(_ context.Context, events []*outbox.Event) []error {
			if len(events) == 0 || len(events) > most {
				t.Fatalf("%d events at once", len(events))
			}
			errs := make([]error, len(events))
			seen := map[eventstore.ID]bool{}
			for i, e := range events {
				if seen[e.Aggregate] {
					t.Fatalf("two events of %s", e.Aggregate)
				}
				seen[e.Aggregate] = true
				switch fate := rapid.IntRange(0, 5).Draw(t, "fate"); {
				case poison(e.ID):
					errs[i] = subscription.Permanent(errRefused)
				case fate == 0:
					errs[i] = errDown
				default:
					if accepted = append(accepted, e.ID); fate == 1 { // the answer is lost
						errs[i] = errDown
					}
				}
			}
			if rapid.IntRange(0, 9).Draw(t, "short") == 0 {
				errs = errs[:len(errs)-1]
			}
			return errs
		})
		parked := consume(t, outbox.To(destination, outbox.Options{}), events)
		checkOrder(t, events, accepted, parked, poison)
	})
}

// TestWebhookOrder does the same with a webhook, one by one and in batches.
func TestWebhookOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events, poison := draw(t)
		var accepted []string
		fates := rapid.SliceOfN(rapid.IntRange(0, 5), 1, 20).Draw(t, "fates")
		var mu sync.Mutex
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			ids, fate := idsOf(r), 2
			if len(fates) > 0 {
				fate, fates = fates[0], fates[1:]
			}
			switch {
			case fate == 0:
				w.WriteHeader(http.StatusServiceUnavailable)
			case slices.ContainsFunc(ids, poison):
				w.WriteHeader(http.StatusUnprocessableEntity)
			default:
				if accepted = append(accepted, ids...); fate == 1 {
					panic(http.ErrAbortHandler)
				}
			}
		}))
		defer server.Close()
		w, err := outbox.NewWebhook(outbox.WebhookOptions{URL: server.URL, Secrets: []string{secret}, Private: true, Batch: rapid.IntRange(0, 8).Draw(t, "batch")})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		parked := consume(t, outbox.To(w, outbox.Options{}), events)
		checkOrder(t, events, accepted, parked, poison)
	})
}

func TestConcurrentReportsTheNextError(t *testing.T) {
	// b-1 fails in the first wave; a-2, before it, is tried first and accepted.
	var waves []string
	d := outbox.Concurrent(3, func(_ context.Context, events []*outbox.Event) []error {
		errs, wave := make([]error, len(events)), []string{}
		for i, e := range events {
			if wave = append(wave, e.ID); e.ID == "b-1" {
				errs[i] = fmt.Errorf("no %s", e.ID)
			}
		}
		waves = append(waves, strings.Join(wave, " "))
		return errs
	})
	n, err := outbox.To(d, outbox.Options{})(t.Context(), feed("a", "a", "b", "c", "c"))
	if n != 2 || err == nil || err.Error() != "no b-1" || !slices.Equal(waves, []string{"a-1 b-1 c-1", "a-2"}) {
		t.Errorf("%d, %v, %q", n, err, waves)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := outbox.To(d, outbox.Options{})(ctx, feed("a")); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d, %v", n, err)
	}
}
