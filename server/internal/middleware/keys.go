package middleware

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"time"

	"github.com/onefold/onefold/accounts"
	"github.com/onefold/onefold/dynamo"
)

const (
	// keysFor is how long a valid key of a sender stays valid while the table is unreachable: what
	// it sends waits in the spool, if there is one, and nothing is returned to it.
	keysFor = 24 * time.Hour
	maxKeys = 10_000
)

// keys caches the keys of senders by the hash of their tokens.
type keys struct {
	mu    sync.Mutex // guards known
	known map[[sha256.Size]byte]knownKey
}

type knownKey struct {
	key accounts.Key
	at  time.Time
}

// SenderKey is accounts.Store.UseKey for requests that only send events or readings. While the
// table is unreachable, it uses the last known state of the key, for up to a day.
func (d *Door) SenderKey(ctx context.Context, token string) (accounts.Key, error) {
	key, err := d.Accounts.UseKey(ctx, token)
	id := sha256.Sum256([]byte(token))
	d.senders.mu.Lock()
	defer d.senders.mu.Unlock()
	switch {
	case err == nil:
		if len(d.senders.known) >= maxKeys {
			for other := range d.senders.known {
				delete(d.senders.known, other)
				break
			}
		}
		d.senders.known[id] = knownKey{key, d.Clock()}
	case errors.Is(err, accounts.ErrDenied):
		delete(d.senders.known, id)
	case dynamo.IsUnavailable(err):
		if k, ok := d.senders.known[id]; ok && d.Clock().Sub(k.at) < keysFor {
			return k.key, nil
		}
	}
	return key, err
}
