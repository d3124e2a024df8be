package telemetry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry/internal/secret"
)

// ErrToken is returned when a token is not one of the device's.
var ErrToken = errors.New("telemetry: token is not valid")

const (
	maxTokens = 2 // valid at once: the one that a device has, and the one that it is to get
	// rotationTime is how long the older token stays valid.
	rotationTime = 7 * 24 * time.Hour
)

// NewToken gives a device a token, and returns it: it is shown this once. The one that was valid before stays so for
// seven days, an older one is no longer. A token is the device's id, a point and a secret. Errors: table.ErrNotFound.
func NewToken(ctx context.Context, t *table.Table, deviceID string) (string, error) {
	token, made := makeToken(deviceID, nowOf(t))
	_, err := modifyDevice(ctx, t, deviceID, func(d *Device) error {
		d.Tokens = rotate(d.Tokens, made)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("telemetry: new token of device %q: %w", shorten(deviceID), err)
	}
	return token, nil
}

func makeToken(deviceID string, now time.Time) (string, Token) {
	token, hash := secret.NewToken(deviceID)
	return token, Token{Hash: hash, CreatedAt: now}
}

// rotate adds a token, and lets the one before expire.
func rotate(tokens []Token, made Token) []Token {
	valid := slices.DeleteFunc(slices.Clone(tokens), func(k Token) bool { return k.expired(made.CreatedAt) })
	for i := range valid {
		if valid[i].ExpiresAt.IsZero() {
			valid[i].ExpiresAt = made.CreatedAt.Add(rotationTime)
		}
	}
	if n := len(valid); n >= maxTokens {
		valid = valid[n-maxTokens+1:]
	}
	return append(valid, made)
}

func (k *Token) expired(now time.Time) bool { return !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt) }

// RevokeTokens takes all tokens of a device away but the newest, or all.
func RevokeTokens(ctx context.Context, t *table.Table, deviceID string, all bool) error {
	_, err := modifyDevice(ctx, t, deviceID, func(d *Device) error {
		keep := 1
		if all {
			keep = 0
		}
		d.Tokens = d.Tokens[max(len(d.Tokens)-keep, 0):]
		return nil
	})
	if err != nil {
		return fmt.Errorf("telemetry: revoke tokens of device %q: %w", shorten(deviceID), err)
	}
	return nil
}

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
	return slices.ContainsFunc(d.Tokens, func(k Token) bool { return !k.expired(now) && proof.Of(k.Hash) })
}

// ErrClaim is returned when a claim code is wrong, was used, or has expired.
var ErrClaim = errors.New("telemetry: claim code is not valid")

const claimTime = 365 * 24 * time.Hour

// NewClaim makes a code by which a device that is provisioned can be taken into service; it is shown this once, to be
// printed on the device. It holds for a year. Errors: table.ErrNotFound, ErrTransition when the device is in service.
func NewClaim(ctx context.Context, t *table.Table, deviceID string) (code string, err error) {
	d, err := GetDevice(ctx, t, deviceID)
	if err != nil {
		return "", err
	}
	if d.Status != Provisioned {
		return "", fmt.Errorf("%w: device %q is %s; only one that is provisioned can be claimed", ErrTransition, deviceID, d.Status)
	}
	code = secret.NewCode()
	c := Claim{ClaimKey: ClaimKey{secret.CodeHash(code)}, DeviceID: deviceID, ExpiresAt: nowOf(t).Add(claimTime)}
	if err := Claims.Create(ctx, t, &c); err != nil {
		return "", fmt.Errorf("telemetry: claim of device %q: %w", deviceID, err)
	}
	return code, nil
}

// ClaimDevice takes a device into service in a fleet, and returns it with its token. A code works once. Errors: ErrClaim,
// table.ErrNotFound when there is no such fleet.
func ClaimDevice(ctx context.Context, t *table.Table, code, fleetID string) (Device, string, error) {
	if _, err := GetFleet(ctx, t, fleetID); err != nil {
		return Device{}, "", err
	}
	claim, err := Claims.Get(ctx, t, ClaimKey{secret.CodeHash(code)})
	if errors.Is(err, table.ErrNotFound) {
		return Device{}, "", ErrClaim
	}
	if err != nil {
		return Device{}, "", fmt.Errorf("telemetry: claim: %w", err)
	}
	token, made := makeToken(claim.DeviceID, nowOf(t))
	d, err := modifyDevice(ctx, t, claim.DeviceID, func(d *Device) error {
		if d.Status != Provisioned {
			return ErrClaim
		}
		if d.FleetID != fleetID {
			d.FleetID, d.ProfileID = fleetID, "" // a profile is a fleet's own
		}
		d.Status, d.Tokens = Active, []Token{made}
		return nil
	})
	if errors.Is(err, table.ErrNotFound) {
		err = ErrClaim
	}
	if err == nil {
		err = Claims.Delete(ctx, t, claim.ClaimKey)
	}
	if err != nil {
		return Device{}, "", fmt.Errorf("telemetry: claim: %w", err)
	}
	return d, token, nil
}
