package eventstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/table"
)

// claim is a value that an append takes, or lets go.
type claim struct {
	key  ReservationKey
	free bool
}

// Reserve lets an append succeed only if no other aggregate has the value in the scope, such as an address in email, and
// gives it to this one. The value is stored as a hash.
func Reserve(scope, value string) AppendOption {
	return func(a *appending) { a.claims = append(a.claims, claim{key: reservationOf(scope, value)}) }
}

// Release gives a value back that the aggregate has.
func Release(scope, value string) AppendOption {
	return func(a *appending) { a.claims = append(a.claims, claim{reservationOf(scope, value), true}) }
}

func reservationOf(scope, value string) ReservationKey {
	h := sha256.Sum256([]byte(value))
	return ReservationKey{scope, hex.EncodeToString(h[:])}
}

var reservedBy = table.FieldOf(Reservations, func(r *Reservation) *string { return &r.Owner })

func (c claim) addTo(tx *table.Tx, id ID, now time.Time) {
	if c.free {
		Reservations.TxDelete(tx, c.key, reservedBy.Eq(id.String()))
		return
	}
	Reservations.TxPut(tx, &Reservation{ReservationKey: c.key, Owner: id.String(), At: now}, table.Or(table.Absent(), reservedBy.Eq(id.String())))
}

// OwnerOf returns the aggregate that has a value, as type/id. Errors: table.ErrNotFound when nobody has it.
func (s *Store) OwnerOf(ctx context.Context, scope, value string) (string, error) {
	r, err := ReservationByValue.Get(ctx, s.t, reservationOf(scope, value))
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		err = fmt.Errorf("eventstore: owner of a value in %q: %w", shorten(scope), err)
	}
	return r.Owner, err
}
