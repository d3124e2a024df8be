package shred_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/shred"
)

// reserved appends an event that reserves a value.
func (w *world) reserved(s *eventstore.Store, id, value string) error {
	_, err := s.Append(w.ctx, customer(id), eventstore.Any(), []eventstore.NewEvent{{Type: "Visited"}}, eventstore.Reserve("email", value))
	return err
}

func (w *world) owner(s *eventstore.Store, value, want string) {
	w.Helper()
	if owner, err := s.OwnerOf(w.ctx, "email", value); err != nil || owner != want {
		w.Errorf("%s belongs to %q, %v", value, owner, err)
	}
}

func (w *world) rules() eventstore.Rules {
	w.Helper()
	r, err := eventstore.RulesNow.Get(w.ctx, w.table, eventstore.RulesKey{})
	w.must(err)
	return r
}

// A copy of the table without a key does not tell whether an address is reserved. As soon as a
// store with keys reserves a value, the secret of the hashes is encrypted. A store without keys is
// told so, and one that has reserved before continues with the same hashes.
func TestReservedValuesAreHidden(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the 12 s until a store gives up on keys that it lacks are missing: leave -short out")
	}
	w := newWorld(t, eventstore.Options{})
	plain, err := eventstore.New(w.table, eventstore.Options{})
	w.must(err)
	w.must(w.reserved(plain, "1", "ada@example.org")) // before there is any store with keys
	secret := w.rules().Secret
	if len(secret) == 0 || len(w.rules().Wrapped) > 0 {
		t.Fatalf("a store without keys kept %+v", w.rules())
	}
	w.owner(w.store, "ada@example.org", "customer/1")
	w.must(w.reserved(w.store, "2", "alan@example.org"))
	if err := w.reserved(w.another(master("2026")), "3", "ada@example.org"); !errors.Is(err, eventstore.ErrReserved) {
		t.Errorf("a value that was reserved before the secret was encrypted: %v", err)
	}
	r := w.rules()
	if len(r.Secret) > 0 || len(r.Wrapped) == 0 || r.Master != "2026" || bytes.Contains(r.Wrapped, secret) {
		t.Errorf("the secret is kept as %+v", r)
	}
	h := hmac.New(sha256.New, secret)
	h.Write([]byte("alan@example.org"))
	if _, err := eventstore.ReservationByValue.Get(w.ctx, w.table, eventstore.ReservationKey{Scope: "email", Value: hex.EncodeToString(h.Sum(nil))}); err != nil {
		t.Errorf("it is another secret: %v", err)
	}
	w.must(w.reserved(plain, "4", "grace@example.org")) // it knows the secret
	w.owner(w.store, "grace@example.org", "customer/4")

	stranger, err := eventstore.New(w.table, eventstore.Options{})
	w.must(err)
	if err := w.reserved(stranger, "5", "x"); !errors.Is(err, eventstore.ErrUnsealed) {
		t.Errorf("a store without keys reserves: %v", err)
	}
	if _, err := stranger.OwnerOf(w.ctx, "email", "ada@example.org"); !errors.Is(err, eventstore.ErrUnsealed) {
		t.Errorf("a store without keys asks: %v", err)
	}
	if _, err := stranger.Append(w.ctx, customer("5"), eventstore.Any(), []eventstore.NewEvent{{Type: "Visited"}}); err != nil {
		t.Errorf("a store without keys appends what is not personal: %v", err)
	}
}

// The secret is encrypted again with a new master key, and cannot be read with another.
func TestRewrapTheSecret(t *testing.T) {
	w := newWorld(t, eventstore.Options{})
	w.must(w.reserved(w.store, "1", "ada@example.org"))
	if _, err := w.another(master("3 new")).OwnerOf(w.ctx, "email", "ada@example.org"); !errors.Is(err, shred.ErrUnreadable) {
		t.Errorf("with another master: %v", err)
	}
	_, err := w.newKeyStore(master("3 new"), master("2026")).Rewrap(w.ctx)
	w.must(err)
	if m := w.rules().Master; m != "3 new" {
		t.Errorf("the secret is encrypted with %q", m)
	}
	w.owner(w.another(master("3 new")), "ada@example.org", "customer/1")
}
