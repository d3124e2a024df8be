package eventstore

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/table"
)

// claim is a value that an append reserves or releases.
type claim struct {
	scope, value string
	subject      string // person that the value is about; "": none
	free         bool
	key          ReservationKey
}

// Reserve reserves a value in a scope for the aggregate, such as an address in the scope email. The
// append fails if another aggregate has it. The value is stored as a keyed hash. For values about a
// person use ReserveFor.
func Reserve(scope, value string) AppendOption {
	return func(a *appending) { a.claims = append(a.claims, claim{scope: scope, value: value}) }
}

// ReserveFor is Reserve for a value about a person, a subject of package shred. The value is
// released when the person is erased. It takes two operations.
func ReserveFor(subject, scope, value string) AppendOption {
	return func(a *appending) {
		a.claims = append(a.claims, claim{scope: scope, value: value, subject: subject})
	}
}

// Release releases a value of the aggregate.
func Release(scope, value string) AppendOption {
	return func(a *appending) { a.claims = append(a.claims, claim{scope: scope, value: value, free: true}) }
}

func (c *claim) operations() int {
	if c.subject != "" {
		return 2
	}
	return 1
}

func (c *claim) check() error {
	if strings.ContainsRune(c.scope, '#') {
		return fmt.Errorf("%w: scope %q of a value must not contain '#'", ErrInvalid, shorten(c.scope))
	}
	if c.subject == "" {
		return nil
	}
	return checkName("subject of a value", c.subject, maxIDBytes)
}

// reservationOf returns the key of a value.
func (s *Store) reservationOf(ctx context.Context, scope, value string) (ReservationKey, error) {
	secret, err := s.tableSecret(ctx)
	if err != nil {
		return ReservationKey{}, err
	}
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(value))
	return ReservationKey{scope, hex.EncodeToString(h.Sum(nil))}, nil
}

// claim computes the keys of the values that the parts reserve or release.
func (j *multiAppend) claim(ctx context.Context) (err error) {
	if !slices.ContainsFunc(j.parts, func(a *appending) bool { return len(a.claims) > 0 }) {
		return nil
	}
	if j.s.o.Secrets == nil && j.s.secret.Load() == nil { // other stores read the rules for each append anyway
		r, err := j.s.held.Get(ctx, j.s.t)
		if err == nil {
			_, err = j.s.secretIn(ctx, r)
		}
		if err != nil {
			return err
		}
	}
	for _, a := range j.parts {
		for i := range a.claims {
			c := &a.claims[i]
			if c.key, err = j.s.reservationOf(ctx, c.scope, c.value); err != nil {
				return fmt.Errorf("reserve a value of scope %q: %w", shorten(c.scope), err)
			}
		}
	}
	return nil
}

var reservedBy = table.FieldOf(Reservations, func(r *Reservation) *string { return &r.Owner })

func (c *claim) addTo(tx *table.Tx, id ID, now time.Time) {
	if c.free {
		Reservations.TxDelete(tx, c.key, reservedBy.Eq(id.String()))
		return
	}
	Reservations.TxPut(tx, &Reservation{ReservationKey: c.key, Owner: id.String(), Subject: c.subject, At: now}, table.Or(table.Absent(), reservedBy.Eq(id.String())))
	if c.subject != "" {
		PersonalReservations.TxPut(tx, &PersonalReservation{PersonalReservationKey{c.subject, c.key}})
	}
}

// claimError returns the error for a claim that failed, without the value. op is the index among the
// operations of all claims.
func (a *appending) claimError(op int) error {
	for _, c := range a.claims {
		if op -= c.operations(); op >= 0 {
			continue
		}
		if c.free {
			return fmt.Errorf("%w: %s cannot release a value of scope %q that it does not have", ErrReserved, shorten(a.id.String()), shorten(c.scope))
		}
		return fmt.Errorf("%w: an aggregate other than %s has the value of scope %q", ErrReserved, shorten(a.id.String()), shorten(c.scope))
	}
	return ErrReserved
}

// OwnerOf returns the aggregate that has reserved a value, as type/id. Errors: table.ErrNotFound if
// none has.
func (s *Store) OwnerOf(ctx context.Context, scope, value string) (string, error) {
	key, err := s.reservationOf(ctx, scope, value)
	if err != nil {
		return "", fmt.Errorf("eventstore: owner of a value in %q: %w", shorten(scope), err)
	}
	r, err := ReservationByValue.Get(ctx, s.t, key)
	switch {
	case errors.Is(err, table.ErrNotFound):
		return "", table.ErrNotFound
	case err != nil:
		return "", fmt.Errorf("eventstore: owner of a value in %q: %w", shorten(scope), err)
	}
	return r.Owner, nil
}
