// Package credentials issues the credentials of devices: tokens that they send, and claim codes
// with which they are taken into service. Package telemetry checks tokens.
package credentials

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/internal/secret"
)

const (
	maxTokens = 2 // valid at once: the current one and its successor
	// rotationTime is how long the previous token stays valid.
	rotationTime = 7 * 24 * time.Hour
)

// NewToken issues a token and returns it; it cannot be retrieved later. The previous token stays
// valid for seven days, older ones do not. A token is the device ID, a point and a secret. Errors:
// table.ErrNotFound.
func NewToken(ctx context.Context, t *table.Table, deviceID string) (string, error) {
	token, made := makeToken(deviceID, now(t))
	_, err := telemetry.ModifyDevice(ctx, t, deviceID, func(d *telemetry.Device) error {
		d.Tokens = rotate(d.Tokens, made)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("credentials: new token of device %q: %w", deviceID, err)
	}
	return token, nil
}

func makeToken(deviceID string, now time.Time) (string, telemetry.Token) {
	token, hash := secret.NewToken(deviceID)
	return token, telemetry.Token{Hash: hash, CreatedAt: now}
}

// rotate adds a token, and makes the previous one expire.
func rotate(tokens []telemetry.Token, made telemetry.Token) []telemetry.Token {
	valid := slices.DeleteFunc(slices.Clone(tokens), func(k telemetry.Token) bool { return k.Expired(made.CreatedAt) })
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

// RevokeTokens revokes the tokens of a device, either all of them or all but the newest. Errors:
// table.ErrNotFound.
func RevokeTokens(ctx context.Context, t *table.Table, deviceID string, all bool) error {
	_, err := telemetry.ModifyDevice(ctx, t, deviceID, func(d *telemetry.Device) error {
		keep := 1
		if all {
			keep = 0
		}
		d.Tokens = d.Tokens[max(len(d.Tokens)-keep, 0):]
		return nil
	})
	if err != nil {
		return fmt.Errorf("credentials: revoke tokens of device %q: %w", deviceID, err)
	}
	return nil
}

// ErrClaim is returned for a claim code that is wrong, used or expired.
var ErrClaim = errors.New("credentials: claim code is not valid")

const claimTime = 365 * 24 * time.Hour

// NewClaim returns a code with which a provisioned device can be claimed. It cannot be retrieved
// later, and is meant to be printed on the device. It is valid for a year. Errors:
// table.ErrNotFound, telemetry.ErrTransition if the device is not provisioned.
func NewClaim(ctx context.Context, t *table.Table, deviceID string) (code string, err error) {
	d, err := telemetry.GetDevice(ctx, t, deviceID)
	if err != nil {
		return "", err
	}
	if d.Status != telemetry.Provisioned {
		return "", fmt.Errorf("%w: device %q is %s; only a provisioned device can be claimed", telemetry.ErrTransition, deviceID, d.Status)
	}
	code = secret.NewCode()
	c := telemetry.Claim{ClaimKey: telemetry.ClaimKey{CodeHash: secret.CodeHash(code)}, DeviceID: deviceID, ExpiresAt: now(t).Add(claimTime)}
	if err := telemetry.Claims.Create(ctx, t, &c); err != nil {
		return "", fmt.Errorf("credentials: claim of device %q: %w", deviceID, err)
	}
	return code, nil
}

// Claim takes a device into service in a fleet, and returns the device and its token. A code works
// once. Errors: ErrClaim, table.ErrNotFound for an unknown fleet.
func Claim(ctx context.Context, t *table.Table, code, fleetID string) (telemetry.Device, string, error) {
	if _, err := telemetry.GetFleet(ctx, t, fleetID); err != nil {
		return telemetry.Device{}, "", err
	}
	claim, err := telemetry.Claims.Get(ctx, t, telemetry.ClaimKey{CodeHash: secret.CodeHash(code)})
	if errors.Is(err, table.ErrNotFound) {
		return telemetry.Device{}, "", ErrClaim
	}
	if err != nil {
		return telemetry.Device{}, "", fmt.Errorf("credentials: claim: %w", err)
	}
	token, made := makeToken(claim.DeviceID, now(t))
	d, err := telemetry.ModifyDevice(ctx, t, claim.DeviceID, func(d *telemetry.Device) error {
		if d.Status != telemetry.Provisioned {
			return ErrClaim
		}
		if d.FleetID != fleetID {
			d.FleetID, d.ProfileID = fleetID, "" // profiles belong to a fleet
		}
		d.Status, d.Tokens = telemetry.Active, []telemetry.Token{made}
		return nil
	})
	if errors.Is(err, table.ErrNotFound) {
		err = ErrClaim
	}
	if err == nil {
		err = telemetry.Claims.Delete(ctx, t, claim.ClaimKey)
	}
	if err != nil {
		return telemetry.Device{}, "", fmt.Errorf("credentials: claim: %w", err)
	}
	return d, token, nil
}

func now(t *table.Table) time.Time { return t.Now().UTC().Truncate(time.Millisecond) }
