package telemetry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/onefold/onefold/telemetry/internal/secret"
)

// ErrToken is returned when a token is not one of the device's.
var ErrToken = errors.New("telemetry: token is not valid")

// Authenticate returns the device that a token is of. It goes by what the collector remembers, for ten seconds at most.
// Errors: ErrToken, whatever is wrong; those of the store.
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

// proves reports whether a secret is one of the device's.
func (d *Device) proves(shown string, now time.Time) bool {
	proof := secret.ProofOf(shown)
	return slices.ContainsFunc(d.Tokens, func(k Token) bool { return !k.Expired(now) && proof.Of(k.Hash) })
}

// Expired reports whether the token is valid no longer.
func (k *Token) Expired(now time.Time) bool { return !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt) }
