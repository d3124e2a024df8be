package telemetry

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry/internal/metric"
)

// ErrInvalid is returned for an invalid setting. The message names the field and what to choose.
var ErrInvalid = errors.New("telemetry: invalid")

// DefaultOwner owns the fleets of an installation without accounts.
const DefaultOwner = "local"

// Limits of texts, in bytes, and of settings.
const (
	maxID            = 64
	maxName          = 200
	maxLabel         = 100 // types, firmware versions, tags
	maxTags          = 20
	maxNotes         = 50
	defaultPerMinute = 6_000
	maxPerMinute     = 6_000_000
	defaultMetrics   = 600
	maxMetrics       = 1_000
)

// NewFleet holds the settings of a fleet to create.
type NewFleet struct {
	ID         string // letters, digits and . _ - : ; at most 64 bytes
	OwnerID    string // default DefaultOwner
	Name       string
	TimeZone   string // IANA name; default UTC. Fixed, because all buckets are in it
	TenMinutes bool
	Retention  Retention
	Limits     Limits

	PropertyTags []string // see Fleet
}

// CreateFleet creates a fleet. Errors: ErrInvalid, ErrRetention, table.ErrExists for an ID in use.
func CreateFleet(ctx context.Context, t *table.Table, n NewFleet) (Fleet, error) {
	f := Fleet{
		FleetKey: FleetKey{n.ID}, OwnerID: n.OwnerID, Name: n.Name, TimeZone: n.TimeZone, TenMinutes: n.TenMinutes,
		Retention: n.Retention, Limits: n.Limits, PropertyTags: n.PropertyTags, CreatedAt: nowOf(t),
	}
	if f.OwnerID == "" {
		f.OwnerID = DefaultOwner
	}
	if f.TimeZone == "" {
		f.TimeZone = "UTC"
	}
	err := f.check()
	if err == nil {
		err = f.register(ctx, t)
	}
	if err == nil {
		err = Fleets.Create(ctx, t, &f)
	}
	if err != nil {
		return Fleet{}, fmt.Errorf("telemetry: create fleet %q: %w", n.ID, err)
	}
	return f, nil
}

// GetFleet reads a fleet. Errors: table.ErrNotFound, also if it is being deleted.
func GetFleet(ctx context.Context, t *table.Table, fleetID string) (Fleet, error) {
	f, err := FleetByID.Get(ctx, t, FleetIn{fleetID})
	if err == nil && !f.DeletedAt.IsZero() {
		f, err = Fleet{}, table.ErrNotFound
	}
	if err != nil {
		return f, fmt.Errorf("telemetry: fleet %q: %w", fleetID, err)
	}
	return f, nil
}

// register stores the owner of a fleet before the fleet, so that EveryFleet finds it.
func (f *Fleet) register(ctx context.Context, t *table.Table) error {
	if f.OwnerID == DefaultOwner {
		return nil
	}
	return Owners.Put(ctx, t, &Owner{OwnerKey{f.OwnerID}})
}

// ListFleets yields the fleets of an owner by ID; "" means all owners, one after the other.
func ListFleets(ctx context.Context, t *table.Table, ownerID string) iter.Seq2[Fleet, error] {
	return func(yield func(Fleet, error) bool) {
		for f, err := range EveryFleet(ctx, t, ownerID) {
			if f.DeletedAt.IsZero() && !yield(f, err) {
				return
			}
		}
	}
}

// EveryFleet is ListFleets including fleets that are being deleted.
func EveryFleet(ctx context.Context, t *table.Table, ownerID string) iter.Seq2[Fleet, error] {
	if ownerID != "" {
		return FleetsOfOwner.All(ctx, t, OwnerIn{ownerID})
	}
	return func(yield func(Fleet, error) bool) {
		for f, err := range FleetsOfOwner.All(ctx, t, OwnerIn{DefaultOwner}) {
			if !yield(f, err) {
				return
			}
		}
		for owner, err := range OwnersOfFleets.All(ctx, t, struct{}{}) {
			if err != nil {
				yield(Fleet{}, err)
				return
			}
			for f, err := range FleetsOfOwner.All(ctx, t, owner.OwnerKey) {
				if !yield(f, err) {
					return
				}
			}
		}
	}
}

// UpdateFleet changes a fleet's settings, except its time zone. Collectors see the change within
// ten seconds. Errors: ErrInvalid, ErrRetention, table.ErrNotFound.
func UpdateFleet(ctx context.Context, t *table.Table, fleetID string, change func(*Fleet) error) (Fleet, error) {
	f, err := Fleets.Modify(ctx, t, FleetKey{fleetID}, func(f *Fleet) error {
		if !f.DeletedAt.IsZero() {
			return table.ErrNotFound
		}
		was := *f
		if err := change(f); err != nil {
			return err
		}
		if f.TimeZone != was.TimeZone {
			return fmt.Errorf("%w: the time zone is %s and cannot be changed, because existing figures use it", ErrInvalid, was.TimeZone)
		}
		f.FleetKey, f.CreatedAt = was.FleetKey, was.CreatedAt
		if err := f.check(); err != nil || f.OwnerID == was.OwnerID {
			return err
		}
		return f.register(ctx, t)
	})
	if err != nil {
		return f, fmt.Errorf("telemetry: update fleet %q: %w", fleetID, err)
	}
	return f, nil
}

func (f *Fleet) check() error {
	if err := checkID("fleet", f.FleetID); err != nil {
		return err
	}
	if f.OwnerID == "" || strings.Contains(f.OwnerID, "#") || len(f.OwnerID) > maxName {
		return fmt.Errorf("%w: owner %q: use 1 to %d bytes without '#'", ErrInvalid, f.OwnerID, maxName)
	}
	if len(f.Name) > maxName {
		return fmt.Errorf("%w: the name has %d bytes: use at most %d", ErrInvalid, len(f.Name), maxName)
	}
	if _, err := calendar.LoadZone(f.TimeZone); err != nil {
		return fmt.Errorf("%w: time zone %q: use an IANA name like Europe/Berlin", ErrInvalid, f.TimeZone)
	}
	if f.Limits.PerMinute < 0 || f.Limits.PerMinute > maxPerMinute || f.Limits.Metrics < 0 || f.Limits.Metrics > maxMetrics {
		return fmt.Errorf("%w: limits: use 1 to %d readings per minute and 1 to %d metrics; 0 is the default", ErrInvalid, maxPerMinute, maxMetrics)
	}
	if err := metric.CheckProperties(f.PropertyTags); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return f.Retention.Check()
}

// checkID validates an ID. IDs are parts of keys and of URL paths, where "." and ".." are special.
func checkID(what, id string) error {
	ok := id != "" && id != "." && id != ".." && len(id) <= maxID
	for i := 0; ok && i < len(id); i++ {
		c := id[i]
		ok = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-' || c == ':'
	}
	if !ok {
		return fmt.Errorf("%w: %s id %q: use letters, digits and . _ - : (but not . or .. alone), at most %d", ErrInvalid, what, shorten(id), maxID)
	}
	return nil
}

// checkLabel validates a text that devices are listed by.
func checkLabel(what, s string) error {
	if len(s) > maxLabel || strings.ContainsAny(s, "#\x00") {
		return fmt.Errorf("%w: %s %q: use at most %d bytes without '#'", ErrInvalid, what, shorten(s), maxLabel)
	}
	return nil
}

func shorten(s string) string { return strings.ToValidUTF8(s[:min(len(s), maxLabel)], "?") }

func nowOf(t *table.Table) time.Time { return t.Now().UTC().Truncate(time.Millisecond) }
