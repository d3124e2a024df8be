package eventjson_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/eventjson"
)

// What is read is written again byte for byte, except for white space between tokens.
func TestForms(t *testing.T) {
	for sent, want := range map[string]string{
		`{"type":"A","data":{"n": 1.10, "big": 123456789012345678901234567890}}`: `"data":{"n":1.10,"big":123456789012345678901234567890}`,
		`{"type":"A","data":null}`:                         `"data":null`,
		`{"type":"A"}`:                                     `"recordedAt":"0001-01-01T00:00:00Z","commit"`,
		`{"type":"A","binary":"AAH/"}`:                     `"binary":"AAH/"`,
		`{"type":"A","data":"x","tenant":"t","actor":"a"}`: `"data":"x","actor":"a","tenant":"t"`,
		`{"type":"A","schema":3,"metadata":{"k":"v"}}`:     `"schema":3`,
	} {
		var n eventjson.New
		if err := json.Unmarshal([]byte(sent), &n); err != nil {
			t.Fatalf("%s: %v", sent, err)
		}
		e, err := n.Event()
		if err != nil {
			t.Fatalf("%s: %v", sent, err)
		}
		told, err := json.Marshal(eventjson.Of(&eventstore.Event{EventType: e.Type, Schema: e.Schema, Payload: e.Payload, Envelope: e.Envelope}))
		if err != nil || !strings.Contains(string(told), want) {
			t.Errorf("%s is told as %s (%v), want %s", sent, told, err, want)
		}
	}
	n := eventjson.New{Type: "A", Content: eventjson.Content{Data: json.RawMessage(`1`), Binary: []byte{1}}}
	if _, err := n.Event(); !errors.Is(err, eventstore.ErrInvalid) {
		t.Errorf("data and binary: %v", err)
	}
}

func TestState(t *testing.T) {
	var s eventjson.State
	for _, payload := range []string{
		`{"status":"placed","total":10.50,"to":{"city":"Oslo","zip":"0150"}}`, ``, `[1,2]`, `"text"`, `null`, `{not json`,
		`{"status":"paid","to":{"city":"Bergen"},"lines":[1,2]}`, `{"lines":[3],"note":null}`,
	} {
		if err := s.Add(&eventstore.Event{Payload: eventstore.Payload(payload)}); err != nil {
			t.Fatal(err)
		}
	}
	have, err := json.Marshal(s.Fields)
	if want := `{"lines":[3],"note":null,"status":"paid","to":{"city":"Bergen","zip":"0150"},"total":10.50}`; err != nil || string(have) != want {
		t.Errorf("state: %s (%v), want %s", have, err, want)
	}
	if s.Silent != 5 {
		t.Errorf("%d events said nothing that counts, want 5", s.Silent)
	}
}

// The memory of a state is limited, however many fields the events have.
func TestStateIsBounded(t *testing.T) {
	var s eventjson.State
	long := strings.Repeat("x", 300<<10)
	for i := range 200 {
		payload, err := json.Marshal(map[string]string{strings.Repeat("k", i+1): long})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Add(&eventstore.Event{Payload: payload}); errors.Is(err, eventstore.ErrTooLarge) {
			return
		}
	}
	t.Error("60 MB of fields were kept")
}
