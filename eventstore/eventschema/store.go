package eventschema

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

// Limits of stored schemas.
const (
	MaxVersion   = 1_000_000
	maxVersions  = 100 // of a type
	maxEventType = 128 // bytes
)

// Put stores the schema of a version of an event type. If there is one, the new one must accept every
// event that it accepts: otherwise use another version. changed is false if it is stored already.
//
// What the schema declares personal becomes a rule of the table, for all versions of the type and
// permanently, before the schema is stored: see eventstore.DeclarePersonal. Errors: ErrSchema,
// *Incompatible, eventstore.ErrInvalid, those of the store.
func Put(ctx context.Context, t *table.Table, key Key, s *Schema) (changed bool, err error) {
	if key.EventType == "" || len(key.EventType) > maxEventType || !utf8.ValidString(key.EventType) || strings.Contains(key.EventType, "#") || key.Version < 1 || key.Version > MaxVersion {
		return false, fmt.Errorf("%w: use an event type of 1 to %d bytes without #, and a version from 1 to %d", ErrSchema, maxEventType, MaxVersion)
	}
	all, err := Versions(ctx, t, key.EventType)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return false, err
	}
	if known := slices.ContainsFunc(all, func(r Record) bool { return r.Version == key.Version }); !known && len(all) >= maxVersions {
		return false, fmt.Errorf("%w: %s has schemas of %d versions, and may not have more", ErrSchema, key.EventType, maxVersions)
	}
	if err := declare(ctx, t, all, key, s); err != nil {
		return false, wrapped(key, err)
	}
	now := t.Now().UTC()
	err = Records.Create(ctx, t, &Record{Key: key, Text: string(s.text), CreatedAt: now, UpdatedAt: now})
	if !errors.Is(err, table.ErrExists) {
		return err == nil, wrapped(key, err)
	}
	_, err = Records.Modify(ctx, t, key, func(r *Record) error {
		if changed = !bytes.Equal([]byte(r.Text), s.text); !changed {
			return nil
		}
		old, err := Parse([]byte(r.Text))
		if err == nil {
			err = s.Replaces(old)
		}
		r.Text, r.UpdatedAt = string(s.text), now
		return err
	})
	return changed && err == nil, wrapped(key, err)
}

// declare declares what a schema says is personal, unless it cannot be stored.
func declare(ctx context.Context, t *table.Table, all []Record, key Key, s *Schema) error {
	rules := s.Personal(key.EventType)
	if len(rules) == 0 {
		return nil
	}
	for i := range all {
		if all[i].Version != key.Version {
			continue
		}
		old, err := Parse([]byte(all[i].Text))
		if err == nil {
			err = s.Replaces(old)
		}
		if err != nil {
			return err
		}
	}
	return eventstore.DeclarePersonal(ctx, t, rules)
}

// Delete deletes the schema of a version of an event type. Rules about personal fields stay. Errors:
// ErrNotFound, those of the store.
func Delete(ctx context.Context, t *table.Table, key Key) error {
	err := Records.Delete(ctx, t, key, table.Present())
	if errors.Is(err, table.ErrNotFound) || errors.Is(err, table.ErrCondition) || errors.Is(err, table.ErrKeyValue) {
		err = ErrNotFound
	}
	return wrapped(key, err)
}

func wrapped(key Key, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("eventschema: %s, version %d: %w", key.EventType, key.Version, err)
}

// Versions returns the schemas of an event type by version. Errors: ErrNotFound if there are none,
// those of the store.
func Versions(ctx context.Context, t *table.Table, eventType string) ([]Record, error) {
	all, err := VersionsOf.Collect(ctx, t, struct {
		EventType string `dynamodbav:"eventType"`
	}{eventType})
	if errors.Is(err, table.ErrKeyValue) || err == nil && len(all) == 0 {
		return nil, fmt.Errorf("%w: %q", ErrNotFound, eventType)
	}
	if err != nil {
		return nil, fmt.Errorf("eventschema: %s: %w", eventType, err)
	}
	return all, nil
}
