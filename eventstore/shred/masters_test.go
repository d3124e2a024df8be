package shred_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/shred"
)

func TestParseMasters(t *testing.T) {
	one, err := shred.NewMaster(time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC))
	if err != nil || !strings.HasPrefix(one.Line(), "20261127-") {
		t.Fatal(one.ID, err)
	}
	two, err := shred.NewMaster(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	all, err := shred.ParseMasters("# new first\n\n " + two.Line() + "\r\n" + one.Line())
	if err != nil || len(all) != 2 || all[0].Line() != two.Line() || all[1].Line() != one.Line() {
		t.Errorf("%v, %v", all, err)
	}
	for name, text := range map[string]string{
		"nothing": "", "a comment": "# none\n", "no name": strings.TrimPrefix(one.Line(), one.ID), "no key": "2026", "a short key": one.Line()[:len(one.Line())-2],
		"no digits": "2026:" + strings.Repeat("x", 64), "a long name": strings.Repeat("n", 65) + ":" + strings.Repeat("0", 64), "too many": strings.Repeat(one.Line()+"\n", 21),
	} {
		if _, err := shred.ParseMasters(text); !errors.Is(err, eventstore.ErrInvalid) || strings.Contains(err.Error(), strings.Repeat("x", 8)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A key store with other master keys than those in use stores nothing, so that it cannot make anything
// unreadable for the right one.
func TestVerifyMasters(t *testing.T) {
	w := newWorld(t, eventstore.Options{})
	w.must(w.keyStore.Verify(w.ctx))
	w.must(w.say(customer("1"), "Registered", `{"customerId":"c1","name":"Ada"}`))
	other := master("2026")
	other.Key = append([]byte{other.Key[0] + 1}, other.Key[1:]...)
	for name, c := range map[string]struct {
		masters []shred.Master
		want    error
	}{
		"the same":             {[]shred.Master{master("2026")}, nil},
		"another name":         {[]shred.Master{master("2027")}, shred.ErrMaster},
		"another key":          {[]shred.Master{other}, shred.ErrMaster},
		"the same, and a next": {[]shred.Master{master("2026"), master("2027")}, nil},
	} {
		k, err := shred.New(w.table, shred.Options{Masters: c.masters, Personal: personal(t)})
		w.must(err)
		if err := k.Verify(w.ctx); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		store, err := eventstore.New(w.table, eventstore.Options{Secrets: k.Secrets()})
		w.must(err)
		_, err = store.Append(w.ctx, customer(name), eventstore.Any(), []eventstore.NewEvent{{Type: "Registered", Payload: []byte(`{"customerId":"new","name":"Grace"}`)}})
		if !errors.Is(err, c.want) {
			t.Errorf("%s: append: %v", name, err)
		}
	}
	if got := w.read(w.store, customer("1")); len(got) != 1 || !strings.Contains(string(got[0].Payload), "Ada") {
		t.Errorf("read %v", got)
	}
}

// A new master key is used at once, and the old one is required until Rewrap.
func TestRetireMasters(t *testing.T) {
	w := newWorld(t, eventstore.Options{})
	w.must(w.say(customer("1"), "Registered", `{"customerId":"c1","name":"Ada"}`))
	verify := func(masters ...shred.Master) (*shred.KeyStore, error) {
		k, err := shred.New(w.table, shred.Options{Masters: masters, Personal: personal(t)})
		w.must(err)
		return k, k.Verify(w.ctx)
	}
	k, err := verify(master("2027"), master("2026"))
	w.must(err)
	for _, lone := range []string{"2026", "2027"} {
		if _, err := verify(master(lone)); !errors.Is(err, shred.ErrMaster) {
			t.Errorf("%s alone, before Rewrap: %v", lone, err)
		}
	}
	n, err := k.Rewrap(w.ctx)
	if err != nil || n != 1 {
		t.Errorf("rewrapped %d: %v", n, err)
	}
	if _, err := verify(master("2026")); !errors.Is(err, shred.ErrMaster) {
		t.Errorf("the old one, after Rewrap: %v", err)
	}
	_, err = verify(master("2027"))
	w.must(err)
}

// Readers without permission find placeholders, whether the values are those of a text or not.
func TestRedact(t *testing.T) {
	w := newWorld(t, eventstore.Options{})
	w.must(w.say(customer("1"), "Registered", `{"customerId":"c1","name":"Ada","plan":"gold"}`))
	w.must(w.say(customer("1"), "Noted", `{"about":"c1","note":{"on":"Ada"},"by":"desk"}`, "ip", "192.0.2.7", "page", "3"))
	w.must(w.say(customer("1"), "Left", `{"name":"[redacted]"}`))
	saved := w.snapshot(w.store, customer("1"))
	k := w.newKeyStore(master("2026"))
	sealing, err := eventstore.New(w.table, eventstore.Options{Secrets: k.Sealing()})
	w.must(err)
	plain, err := eventstore.New(w.table, eventstore.Options{})
	w.must(err)
	for name, s := range map[string]*eventstore.Store{"sealing": sealing, "without keys": plain} {
		events := w.read(s, customer("1"))
		for i := range events {
			shred.Redact(&events[i])
		}
		for i, want := range []string{`{"customerId":"c1","name":"[redacted]","plan":"gold"}`, `{"about":"c1","by":"desk","note":null}`, `{"name":"[redacted]"}`} {
			if !sameJSON(string(events[i].Payload), want) {
				t.Errorf("%s: %s, want %s", name, events[i].Payload, want)
			}
		}
		if m := events[1].Metadata; len(m) != 2 || m["ip"] != shred.Redacted || m["page"] != "3" {
			t.Errorf("%s: metadata %v", name, m)
		}
	}
	if _, ok, err := sealing.OpenState(w.ctx, customer("1"), w.state(customer("1"))); !saved || ok || err != nil {
		t.Errorf("a snapshot with personal data was opened: saved %v, ok %v, %v", saved, ok, err)
	}
	damaged := eventstore.Event{Payload: []byte(`{"name":"Ada"}`)}
	damaged.Metadata = map[string]string{"$sealed": "{", "ip": "192.0.2.7"}
	if shred.Redact(&damaged); damaged.Payload != nil || damaged.Metadata != nil {
		t.Errorf("a damaged event: %v", damaged)
	}
}

// state returns the stored state of an aggregate's snapshot.
func (w *world) state(id eventstore.ID) eventstore.Payload {
	w.Helper()
	snap, err := eventstore.SnapshotByID.Get(w.ctx, w.table, eventstore.SnapshotKey{ID: id})
	w.must(err)
	return snap.State
}
