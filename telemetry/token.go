package telemetry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/onefold/onefold/telemetry/internal/secret"
)

// ErrToken is returned for an invalid token.
var ErrToken = errors.New("telemetry: token is not valid")

// Authenticate returns the device of a token, from the collector's cache, at most ten seconds old.
// Errors: ErrToken, whatever is wrong with the token; those of the store.
func (c *Collector) Authenticate(ctx context.Context, token string) (Device, error) {
	deviceID, shown, ok := secret.Split(token)
	if !ok {
		return Device{}, ErrToken
	}
	s, err := c.devices.get(ctx, deviceID)
	if err != nil {
		return Device{}, fmt.Errorf("telemetry: authenticate: %w", err)
	}
	if s == nil || !s.device.proves(shown, c.t.Now()) {
		return Device{}, ErrToken
	}
	return s.device, nil
}

// proves reports whether a secret belongs to the device.
func (d *Device) proves(shown string, now time.Time) bool {
	proof := secret.ProofOf(shown)
	return slices.ContainsFunc(d.Tokens, func(k Token) bool { return !k.Expired(now) && proof.Of(k.Hash) })
}

// Expired reports whether the token has expired.
func (k *Token) Expired(now time.Time) bool { return !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt) }
