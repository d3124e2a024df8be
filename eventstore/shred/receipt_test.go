package shred_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/shred"
	"github.com/onefold/onefold/table"
)

// A receipt says that everything is finished only when it is: not before the change stream has
// dropped the old contents of read models.
func TestReceiptListsRemains(t *testing.T) {
	w := newWorld(t, eventstore.Options{})
	w.must(w.say(customer("1"), "Registered", ada))
	forgotten := w.db.Now()
	for _, c := range []struct {
		later    time.Duration
		finished bool
	}{{0, false}, {time.Hour, false}, {23*time.Hour - time.Second, false}, {time.Second, true}, {time.Hour, true}} {
		w.db.Advance(c.later)
		r, err := w.keyStore.Erase(w.ctx, "c1")
		w.must(err)
		s, err := shred.SubjectByID.Get(w.ctx, w.table, shred.SubjectKey{Subject: "c1"})
		w.must(err)
		until := forgotten.Add(24 * time.Hour)
		if !r.Remade.Equal(forgotten) || !r.Remains.Equal(until) || !r.Erased.Equal(forgotten) || !s.Finished.Equal(r.Finished) {
			t.Errorf("after another %s: %+v, kept as %+v", c.later, r, s)
		}
		if c.finished != r.Finished.Equal(until) || c.finished == r.Finished.IsZero() {
			t.Errorf("after another %s: finished at %s", c.later, r.Finished)
		}
	}
}

// A reserved value about a person cannot be found by guessing, is in no error, and is free after
// the person is forgotten.
func TestErasedReservations(t *testing.T) {
	w := newWorld(t, eventstore.Options{})
	const address = "ada@example.org"
	events := []eventstore.NewEvent{{Type: "Registered", Payload: []byte(ada)}}
	_, err := w.store.Append(w.ctx, customer("1"), eventstore.NoStream(), events, eventstore.ReserveFor("c1", "email", address), eventstore.Reserve("number", "42"))
	w.must(err)
	hash := sha256.Sum256([]byte(address))
	if plain := hex.EncodeToString(hash[:]); strings.Contains(w.everything(), plain) {
		t.Error("the value is stored as a hash that anybody can make")
	}
	take := func(value eventstore.AppendOption) error {
		_, err := w.store.Append(w.ctx, customer("2"), eventstore.Any(), []eventstore.NewEvent{{Type: "Visited"}}, value)
		return err
	}
	err = take(eventstore.Reserve("email", address))
	if !errors.Is(err, eventstore.ErrReserved) || !strings.Contains(err.Error(), `"email"`) || !strings.Contains(err.Error(), "customer/2") {
		t.Errorf("a value that is taken: %v", err)
	}
	key, rest, _ := strings.Cut(w.reservation(), "#")
	if strings.Contains(err.Error(), key) || len(key) != 64 || rest != "" {
		t.Errorf("the error has the hash: %v", err)
	}
	r, err := w.keyStore.Erase(w.ctx, "c1")
	if err != nil || r.Released != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := w.store.OwnerOf(w.ctx, "email", address); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("the address is still taken: %v", err)
	}
	if owner, err := w.store.OwnerOf(w.ctx, "number", "42"); err != nil || owner != "customer/1" {
		t.Errorf("what is not about the person belongs to %q, %v", owner, err)
	}
	w.must(take(eventstore.ReserveFor("c2", "email", address)))
	if r, err := w.keyStore.Erase(w.ctx, "c1"); err != nil || r.Released != 0 {
		t.Errorf("again: %+v, %v", r, err)
	}
	if owner, err := w.store.OwnerOf(w.ctx, "email", address); err != nil || owner != "customer/2" {
		t.Errorf("what is another's now belongs to %q, %v", owner, err)
	}
}

// reservation returns the hash of the value that is about c1.
func (w *world) reservation() string {
	w.Helper()
	r, err := eventstore.ReservationsOf.First(w.ctx, w.table, eventstore.SubjectIn{Subject: "c1"})
	w.must(err)
	return r.Value
}
