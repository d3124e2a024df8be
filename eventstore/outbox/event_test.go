package outbox_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/outbox"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files of the mapping")

var examples = map[string]struct {
	options outbox.Options
	event   eventstore.FeedEvent
}{
	"minimal": {event: feedEvent(1, eventstore.Event{EventKey: key("order", "7", 1), EventID: "01KPNC60G0461BNR516ZGK4697", EventType: "OrderPlaced"})},
	"full": {
		options: outbox.Options{Source: "https://shop.example.com/orders", TypePrefix: "com.example."},
		event: feedEvent(4211, eventstore.Event{
			EventKey: key("order", "7", 2), EventID: "01KPNC60G0461BNR516ZGK4698", EventType: "OrderPaid", Schema: 3, Nth: 1,
			Payload: eventstore.Payload(`{"total": 12.50, "note":"<ü>"}`), Envelope: envelope(),
		}),
	},
	"opted in": {
		options: outbox.Options{Tenant: true, Actor: true, Metadata: []string{"Region-Name", "missing", "source", "region.name"}},
		event:   feedEvent(2, eventstore.Event{EventKey: key("order", "7", 3), EventID: "01KPNC60G0461BNR516ZGK4699", EventType: "OrderPaid", Envelope: envelope()}),
	},
	"binary": {
		options: outbox.Options{ContentType: "application/protobuf"},
		event:   feedEvent(3, eventstore.Event{EventKey: key("order", "7", 4), EventID: "01KPNC60G0461BNR516ZGK469A", EventType: "OrderPaid", Payload: eventstore.Payload{0, 255, 1}}),
	},
	"hostile": {
		options: outbox.Options{Source: "a b%zz", Actor: true, Metadata: []string{"x"}},
		event: feedEvent(5, eventstore.Event{
			EventKey: key(`or"der\`, "ü\r\nx: y\x7f\ufffe", 1), EventID: "01KPNC60G0461BNR516ZGK469B", EventType: "Paid\x00",
			Payload:  eventstore.Payload("{\"a\":\"\xff\"}"),
			Envelope: eventstore.Envelope{Correlation: "bad\xff", Actor: "a\nb", Metadata: map[string]string{"x": "\u2028", "traceparent": "00-zz"}},
		}),
	},
}

func key(kind, id string, seq int64) eventstore.EventKey {
	return eventstore.EventKey{ID: eventstore.ID{Type: kind, ID: id}, Seq: seq}
}

func feedEvent(position int64, e eventstore.Event) eventstore.FeedEvent {
	e.OccurredAt = time.Date(2026, 4, 20, 14, 0, 0, 120_000_000, time.FixedZone("", 7200))
	return eventstore.FeedEvent{Event: e, Position: position}
}

func envelope() eventstore.Envelope {
	return eventstore.Envelope{
		Correlation: "checkout-9", Causation: "01KPNC60G0461BNR516ZGK4697", Actor: "ada@example.com", Tenant: "acme", Tags: []string{"person:ada"},
		Metadata: map[string]string{"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "Region-Name": "eu", "source": "web"},
	}
}

// TestMapping compares the JSON form of events with golden files.
func TestMapping(t *testing.T) {
	for name, c := range examples {
		t.Run(name, func(t *testing.T) {
			var sent recorder
			if n, err := outbox.To(&sent, c.options)(t.Context(), []eventstore.FeedEvent{c.event}); n != 1 || err != nil {
				t.Fatal(n, err)
			}
			got := sent.events[0].JSON()
			if !json.Valid(got) {
				t.Errorf("invalid JSON: %s", got)
			}
			file := filepath.Join("testdata", strings.ReplaceAll(name, " ", "_")+".json")
			if *rewrite {
				if err := os.WriteFile(file, append(got, '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want, err := os.ReadFile(file); err != nil || string(want) != string(got)+"\n" {
				t.Errorf("got\n%s\nnot\n%s(%v)", got, want, err)
			}
		})
	}
}

func TestHeaderValue(t *testing.T) {
	for in, want := range map[string]string{"plain/1": "plain/1", "a b\"%": "a%20b%22%25", "Euro €": "Euro%20%E2%82%AC", "\t": "%09"} {
		if got := outbox.HeaderValue(in); got != want {
			t.Errorf("%q: %s", in, got)
		}
	}
}
