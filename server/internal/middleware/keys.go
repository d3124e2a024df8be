package middleware

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"time"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/server/accounts"
)

const (
	// keepKeys is how long a valid key of a sender stays valid while the table is unreachable: what
	// it sends waits in the spool, if there is one, and nothing is returned to it.
	keepKeys = 24 * time.Hour
	maxKeys  = 10_000
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
func (s *Stack) SenderKey(ctx context.Context, token string) (accounts.Key, error) {
	key, err := s.Accounts.UseKey(ctx, token)
	id := sha256.Sum256([]byte(token))
	s.senders.mu.Lock()
	defer s.senders.mu.Unlock()
	switch {
	case err == nil:
		if len(s.senders.known) >= maxKeys {
			for other := range s.senders.known {
				delete(s.senders.known, other)
				break
			}
		}
		s.senders.known[id] = knownKey{key, s.Clock()}
	case errors.Is(err, accounts.ErrDenied):
		delete(s.senders.known, id)
	case dynamo.IsUnavailable(err):
		if k, ok := s.senders.known[id]; ok && s.Clock().Sub(k.at) < keepKeys {
			return k.key, nil
		}
	}
	return key, err
}
