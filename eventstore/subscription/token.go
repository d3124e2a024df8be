package subscription

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

// ErrToken is returned for a token that no delivery of the subscription had.
var ErrToken = errors.New("subscription: invalid token")

// token names a delivery of an event.
type token struct {
	created   int64 // Unix nanoseconds: tokens end with the subscription
	partition int
	turn      int64
	parked    bool
	position  int64
	eventstore.EventKey
	eventID, eventType string
}

func tokenScope(name string) string { return "subscription " + name }

// seal returns the token for a consumer. It is signed like the cursors of the table.
func (k *token) seal(t *table.Table, name string) string {
	number := func(n int64) string { return strconv.FormatInt(n, 36) }
	return t.SealCursor(tokenScope(name), number(k.created), number(int64(k.partition)), number(k.turn), strconv.FormatBool(k.parked), number(k.position),
		k.Type, k.ID.ID, number(k.Seq), k.eventID, k.eventType)
}

// openToken decodes a token. Errors: ErrToken.
func openToken(t *table.Table, name, text string) (k token, err error) {
	at, err := t.OpenCursor(tokenScope(name), text)
	if err != nil || len(at) != 10 {
		return k, ErrToken
	}
	var partition int64
	for i, n := range map[int]*int64{0: &k.created, 1: &partition, 2: &k.turn, 4: &k.position, 7: &k.Seq} {
		var wrong error
		*n, wrong = strconv.ParseInt(at[i], 36, 64)
		err = errors.Join(err, wrong)
	}
	if err != nil || partition < 0 || partition >= maxPartitions {
		return k, fmt.Errorf("%w: %w", ErrToken, err)
	}
	k.partition, k.parked = int(partition), at[3] == "true"
	k.Type, k.ID.ID, k.eventID, k.eventType = at[5], at[6], at[8], at[9]
	return k, nil
}
