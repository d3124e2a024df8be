package accounts

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/onefold/onefold/table"
)

// sharedBytes is the size of a secret that servers share.
const sharedBytes = 32

// SharedSecret returns the named secret that all servers of a table share. The first caller creates
// it. It signs, for example, cursors that a client may send to another server.
func SharedSecret(ctx context.Context, t *table.Table, name string) ([]byte, error) {
	key := SharedKey{Name: name}
	found, err := SharedByName.Get(ctx, t, key)
	if errors.Is(err, table.ErrNotFound) {
		found = Shared{SharedKey: key, Value: make([]byte, sharedBytes)}
		rand.Read(found.Value) //nolint:errcheck // never returns an error since Go 1.24
		if err = SharedSecrets.Create(ctx, t, &found); errors.Is(err, table.ErrExists) {
			found, err = SharedByName.Get(ctx, t, key)
		}
	}
	if err == nil && len(found.Value) != sharedBytes {
		err = fmt.Errorf("it has %d bytes instead of %d", len(found.Value), sharedBytes)
	}
	if err != nil {
		return nil, fmt.Errorf("accounts: shared secret %s: %w", name, err)
	}
	return found.Value, nil
}
