package registry_test

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/registry"
	"github.com/onefold/onefold/table"
)

// gobs is a second payload format, which is not text.
type gobs struct{}

func (gobs) Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(v)
	return b.Bytes(), err
}

func (gobs) Decode(data []byte, into any) error {
	return gob.NewDecoder(bytes.NewReader(data)).Decode(into)
}

// Three versions of an event: a temperature in whole degrees, in tenths, and with a unit.
type (
	measured1 struct{ Degrees int }
	measured2 struct{ Tenths int }
	Measured  struct {
		Tenths int
		Unit   string
	}
	Other struct{ N int }
)

func upcasts(r *registry.Registry) {
	registry.Register[Measured](r, "Measured", 3, registry.In(gobs{}))
	registry.Upcast(r, "Measured", 1, 2, func(old measured1) (measured2, error) {
		if old.Degrees < -273 {
			return measured2{}, errors.New("colder than cold")
		}
		return measured2{old.Degrees * 10}, nil
	})
	registry.Upcast(r, "Measured", 2, 3, func(old measured2) (Measured, error) { return Measured{old.Tenths, "C"}, nil })
}

func newStore(t *testing.T) *eventstore.Store {
	t.Helper()
	db := enginetest.New(t)
	if err := eventstore.Schema.Ensure(t.Context(), db, "onefold"); err != nil {
		t.Fatal(err)
	}
	s, err := eventstore.New(table.New(db, "onefold", table.Options{Clock: db.Now}), eventstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var sensor = eventstore.ID{Type: "sensor", ID: "1"}

// Readers, folds and snapshots read events of all versions, in two formats, as the current version.
func TestUpcasts(t *testing.T) {
	r := registry.New(registry.Options{})
	upcasts(r)
	sum := registry.Fold(r, 1, registry.OnEvent(func(sum string, m Measured, e *eventstore.Event) (string, error) {
		return sum + fmt.Sprintf("%d: %d %s; ", e.Seq, m.Tenths, m.Unit), nil
	}))
	if err := r.Check(); err != nil {
		t.Fatal(err)
	}
	s := newStore(t)
	now, err := r.Encode(Measured{215, "K"})
	if err != nil || now.Schema != 3 || now.Type != "Measured" {
		t.Fatalf("%+v, %v", now, err)
	}
	events := []eventstore.NewEvent{{Type: "Measured", Payload: []byte(`{"Degrees":20}`)}, {Type: "Measured", Schema: 2, Payload: []byte(`{"Tenths":205}`)}, now}
	if _, err := s.Append(t.Context(), sensor, eventstore.NoStream(), events); err != nil {
		t.Fatal(err)
	}
	const want = "1: 200 C; 2: 205 C; 3: 215 K; "
	at, err := eventstore.Load(t.Context(), s, sensor, sum)
	if err != nil || at.State != want {
		t.Errorf("%q, %v; want %q", at.State, err, want)
	}
	if saved, err := eventstore.SaveSnapshot(t.Context(), s, sum, at); err != nil || !saved {
		t.Fatal(saved, err)
	}
	if again, err := eventstore.Load(t.Context(), s, sensor, sum); err != nil || again.State != want || again.Read != 0 {
		t.Errorf("from the snapshot: %+v, %v", again, err)
	}
	read := ""
	for e, err := range s.Read(t.Context(), sensor) {
		if err != nil {
			t.Fatal(err)
		}
		e, err = r.Current(e)
		if err != nil || e.Schema != 3 {
			t.Fatalf("%+v, %v", e, err)
		}
		v, err := r.Decode(&e)
		if err != nil {
			t.Fatal(err)
		}
		read += fmt.Sprintf("%d: %d %s; ", e.Seq, v.(Measured).Tenths, v.(Measured).Unit)
	}
	if read != want {
		t.Errorf("in the form of today: %q", read)
	}
}

func TestDecodeErrors(t *testing.T) {
	r := registry.New(registry.Options{})
	upcasts(r)
	for name, c := range map[string]struct {
		event eventstore.Event
		want  error
	}{
		"another type":       {eventstore.Event{EventType: "Weighed"}, registry.ErrUnknownType},
		"a later version":    {eventstore.Event{EventType: "Measured", Schema: 4}, registry.ErrUnknownVersion},
		"no payload":         {eventstore.Event{EventType: "Measured"}, registry.ErrPayload},
		"half a payload":     {eventstore.Event{EventType: "Measured", Schema: 2, Payload: []byte(`{"Tenths":`)}, registry.ErrPayload},
		"another form":       {eventstore.Event{EventType: "Measured", Schema: 3, Payload: []byte(`{"Tenths":1}`)}, registry.ErrPayload},
		"an upcast's refuse": {eventstore.Event{EventType: "Measured", Schema: 1, Payload: []byte(`{"Degrees":-300}`)}, registry.ErrPayload},
	} {
		if v, err := r.Decode(&c.event); !errors.Is(err, c.want) || v != nil {
			t.Errorf("%s: %v, %v", name, v, err)
		}
	}
	if _, err := r.Encode(Other{}); !errors.Is(err, registry.ErrUnknownType) {
		t.Errorf("a value of no registered type: %v", err)
	}
	if _, err := r.Encode(nil); !errors.Is(err, registry.ErrUnknownType) {
		t.Errorf("nil: %v", err)
	}
}

func TestUnknownTypes(t *testing.T) {
	s := newStore(t)
	events := []eventstore.NewEvent{{Type: "Counted", Payload: []byte(`{"N":1}`)}, {Type: "Strange", Payload: []byte("?")}, {Type: "Counted", Payload: []byte(`{"N":2}`)}}
	if _, err := s.Append(t.Context(), sensor, eventstore.NoStream(), events); err != nil {
		t.Fatal(err)
	}
	for policy, want := range map[registry.Unknown]string{registry.Skip: "[1 2]", registry.AsRaw: "[1 Strange 2]", registry.Reject: "[1] registry: unknown type"} {
		r := registry.New(registry.Options{Unknown: policy})
		registry.Register[Other](r, "Counted", 1)
		list := registry.Fold(r, 1,
			registry.On(func(l []string, e Other) ([]string, error) { return append(slices.Clone(l), fmt.Sprint(e.N)), nil }),
			registry.On(func(l []string, e registry.Raw) ([]string, error) { return append(slices.Clone(l), e.EventType), nil }))
		at, err := eventstore.Load(t.Context(), s, sensor, list)
		have := fmt.Sprint(at.State)
		if err != nil {
			have += " " + registry.ErrUnknownType.Error()
		}
		if have != want || err != nil && !errors.Is(err, registry.ErrUnknownType) {
			t.Errorf("policy %d: %s, %v; want %s", policy, have, err, want)
		}
		var read []string
		for e, err := range r.Read(t.Context(), s, sensor) {
			if err == nil {
				read = append(read, strings.TrimPrefix(fmt.Sprintf("%T", e.Data), "registry"))
			}
		}
		if n := map[registry.Unknown]int{registry.Skip: 2, registry.AsRaw: 3, registry.Reject: 1}[policy]; len(read) != n {
			t.Errorf("policy %d: %v are read", policy, read)
		}
	}
}

// Check finds every mistake, and so does every use of the registry.
func TestCheck(t *testing.T) {
	keep := func(s int, _ Other) (int, error) { return s, nil }
	step := func(r *registry.Registry, from, to int) {
		registry.Upcast(r, "A", from, to, func(o Other) (Other, error) { return o, nil })
	}
	for want, fill := range map[string]func(*registry.Registry){
		`type "A" is registered twice`:                               func(r *registry.Registry) { registry.Register[Measured](r, "A", 1) },
		`registered for "A" and for "B": use a separate Go type`:     func(r *registry.Registry) { registry.Register[Other](r, "B", 1) },
		`type "": an event type must not be empty`:                   func(r *registry.Registry) { registry.Register[Measured](r, "", 1) },
		`type "a#b": an event type must not be empty or contain '#'`: func(r *registry.Registry) { registry.Register[Measured](r, "a#b", 1) },
		`version 0: use versions from 1`:                             func(r *registry.Registry) { registry.Register[Measured](r, "B", 0) },
		`cannot be an event type`:                                    func(r *registry.Registry) { registry.Register[any](r, "B", 1) },
		`no upcast of type "B" from version 1`:                       func(r *registry.Registry) { registry.Register[Measured](r, "B", 2) },
		`two upcasts of type "A" from version 1`:                     func(r *registry.Registry) { step(r, 1, 3); step(r, 1, 2); step(r, 2, 3) },
		`from version 2 to 1 must lead to a later version`:           func(r *registry.Registry) { step(r, 2, 1) },
		`leads to version 4, but 3 is registered`:                    func(r *registry.Registry) { step(r, 1, 4) },
		`no upcast of type "A" from version 2`:                       func(r *registry.Registry) { step(r, 1, 2) },
		`an upcast of type "B", which is not registered`: func(r *registry.Registry) {
			registry.Upcast(r, "B", 1, 2, func(o Other) (Other, error) { return o, nil })
		},
		`from version 1 returns a registry_test.Measured, but version 3 is`: func(r *registry.Registry) {
			registry.Upcast(r, "A", 1, 3, func(Other) (m Measured, _ error) { return })
		},
		`takes an interface`: func(r *registry.Registry) { registry.Upcast(r, "A", 1, 3, func(any) (o Other, _ error) { return }) },
		`a fold handles registry_test.Measured, which is not registered`: func(r *registry.Registry) {
			registry.Fold(r, 1, registry.On(func(s int, _ Measured) (int, error) { return s, nil }))
		},
		`a fold to int handles registry_test.Other twice`: func(r *registry.Registry) { registry.Fold(r, 1, registry.On(keep), registry.On(keep)) },
	} {
		r := registry.New(registry.Options{})
		registry.Register[Other](r, "A", 3)
		fill(r)
		_, used := r.Decode(&eventstore.Event{EventType: "A", Schema: 3, Payload: []byte("{}")})
		if err := r.Check(); !errors.Is(err, registry.ErrRegistry) || !strings.Contains(err.Error(), want) || used == nil || used.Error() != err.Error() {
			t.Errorf("%v; used: %v; want %q", err, used, want)
		}
	}
	r := registry.New(registry.Options{Unknown: 9})
	if err := r.Check(); !errors.Is(err, registry.ErrRegistry) {
		t.Errorf("an unknown policy: %v", err)
	}
}

// A registration after the check is an error for everyone, without a data race.
func TestRegisterAfterCheck(t *testing.T) {
	r := registry.New(registry.Options{})
	registry.Register[Other](r, "A", 1)
	if err := r.Check(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 100 {
			_, _ = r.Decode(&eventstore.Event{EventType: "A", Payload: []byte("{}")}) // the result depends on which comes first
		}
	}()
	registry.Register[Measured](r, "B", 1)
	<-done
	if err := r.Check(); !errors.Is(err, registry.ErrRegistry) || !strings.Contains(err.Error(), `type "B": registered after`) {
		t.Error(err)
	}
}

// The events of a conflict, and events with an envelope, decode like all others.
func TestEncodeAll(t *testing.T) {
	r := registry.New(registry.Options{Codec: gobs{}})
	registry.Register[Other](r, "Counted", 1)
	events, err := r.EncodeAll(eventstore.Envelope{Actor: "ada", Metadata: map[string]string{"k": "v"}}, Other{1}, Other{2})
	if err != nil || len(events) != 2 || events[1].Actor != "ada" {
		t.Fatalf("%+v, %v", events, err)
	}
	s := newStore(t)
	if _, err := s.Append(t.Context(), sensor, eventstore.NoStream(), events); err != nil {
		t.Fatal(err)
	}
	_, err = s.Append(t.Context(), sensor, eventstore.NoStream(), events)
	conflict := (*eventstore.Conflict)(nil)
	if !errors.As(err, &conflict) {
		t.Fatal(err)
	}
	for i := range conflict.Since {
		if v, err := r.Decode(&conflict.Since[i]); err != nil || v != (Other{i + 1}) {
			t.Errorf("event %d: %v, %v", i, v, err)
		}
	}
	if _, err := r.EncodeAll(eventstore.Envelope{}, Other{1}, Measured{}); !errors.Is(err, registry.ErrUnknownType) {
		t.Error(err)
	}
}

// Changes after Check affect only themselves: a correct fold works, a wrong one fails, and a new
// type is not used, which Check reports.
func TestOverridesAfterCheck(t *testing.T) {
	r := registry.New(registry.Options{})
	registry.Register[Other](r, "Other", 1)
	if err := r.Check(); err != nil {
		t.Fatal(err)
	}
	add := registry.On(func(n int, o Other) (int, error) { return n + o.N, nil })
	right := registry.Fold(r, 1, add)
	twice := registry.Fold(r, 1, add, add)
	unknown := registry.Fold(r, 1, registry.On(func(n int, _ Measured) (int, error) { return n, nil }))
	if err := r.Check(); err != nil {
		t.Errorf("after the folds: %v", err)
	}
	registry.Register[Measured](r, "Measured", 1)
	if err := r.Check(); !errors.Is(err, registry.ErrRegistry) || !strings.Contains(err.Error(), `"Measured"`) {
		t.Errorf("after the type: %v", err)
	}
	e, err := r.Encode(Other{3})
	if err != nil {
		t.Fatal(err)
	}
	event := eventstore.Event{EventType: e.Type, Schema: e.Schema, Payload: e.Payload}
	if n, err := right.Apply(4, event); err != nil || n != 7 {
		t.Errorf("%d, %v", n, err)
	}
	for name, f := range map[string]eventstore.Fold[int]{"handles twice": twice, "handles what is not registered": unknown} {
		if _, err := f.Apply(4, event); !errors.Is(err, registry.ErrRegistry) {
			t.Errorf("a fold that %s: %v", name, err)
		}
	}
	if _, err := r.Encode(Measured{}); !errors.Is(err, registry.ErrUnknownType) {
		t.Errorf("a type that came late: %v", err)
	}
}
