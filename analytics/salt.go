package analytics

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/table"
)

const (
	saltBytes = 32
	// saltLifetime is how long a salt is kept after its day, for late events. An event that is even
	// later gets a new salt, and so a new visitor.
	saltLifetime = 48 * time.Hour
)

// saltOf returns the salt of a site's day, and creates it on first use. end is the end of the day.
func saltOf(ctx context.Context, t *table.Table, k SaltKey, end time.Time) ([]byte, error) {
	const tries = 4 // a salt may expire between a failed create and the next read
	for range tries {
		s, err := Salts.Get(ctx, t, k)
		if err == nil {
			return s.Value, nil
		}
		if !errors.Is(err, table.ErrNotFound) {
			return nil, err
		}
		if now := t.Now(); end.Before(now) {
			end = now
		}
		s = Salt{SaltKey: k, Value: make([]byte, saltBytes), ExpiresAt: end.Add(saltLifetime)}
		if _, err := rand.Read(s.Value); err != nil {
			return nil, fmt.Errorf("analytics: make a salt: %w", err)
		}
		err = Salts.Create(ctx, t, &s)
		if err == nil {
			return s.Value, nil
		}
		if !errors.Is(err, table.ErrExists) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("analytics: salt of %s %s: %w", k.SiteID, k.Day, table.ErrConflict)
}
