package eventschema

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

// Checker checks events against the stored schemas of their types. It remembers schemas, and the
// types that have none, for 2 seconds. Create one with NewChecker. It is safe for concurrent use.
type Checker struct {
	t *table.Table

	mu    sync.Mutex // protects the fields below
	types map[string]remembered
}

// remembered are the schemas of a type.
type remembered struct {
	at       time.Time
	versions map[int]*Schema // nil: events are not checked
}

const (
	rememberFor   = 2 * time.Second
	maxRemembered = 1000 // types
)

// NewChecker returns a checker for a table.
func NewChecker(t *table.Table) *Checker {
	return &Checker{t: t, types: map[string]remembered{}}
}

// Refused is the error of an event that must not be appended.
type Refused struct {
	Index int // of the event
	Type  string
	Cause error // *Invalid, or ErrNotFound if its type has schemas of other versions only
}

func (e *Refused) Error() string {
	return fmt.Sprintf("event %d, a %s: %s", e.Index, e.Type, e.Cause)
}

func (e *Refused) Unwrap() error { return e.Cause }

// Check checks events. Those whose types have no schema pass. Errors: *Refused for the first event
// that does not match; those of the store.
func (c *Checker) Check(ctx context.Context, events []eventstore.NewEvent) error {
	for i := range events {
		e := &events[i]
		versions, err := c.of(ctx, e.Type)
		if err != nil {
			return err
		}
		if versions == nil {
			continue
		}
		version := max(e.Schema, 1)
		s := versions[version]
		if s == nil { // perhaps it is new
			c.Forget(e.Type)
			if versions, err = c.of(ctx, e.Type); err != nil {
				return err
			}
			s = versions[version]
		}
		if s == nil {
			return &Refused{i, e.Type, fmt.Errorf("%w: version %d", ErrNotFound, version)}
		}
		if err := s.Check(e.Payload); err != nil {
			return &Refused{i, e.Type, err}
		}
	}
	return nil
}

// Forget makes the next check read the schemas of a type.
func (c *Checker) Forget(eventType string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.types, eventType)
}

// of returns the schemas of a type by version; nil if there are none.
func (c *Checker) of(ctx context.Context, eventType string) (map[int]*Schema, error) {
	now := c.t.Now()
	c.mu.Lock()
	known, ok := c.types[eventType]
	c.mu.Unlock()
	if ok && now.Sub(known.at) < rememberFor {
		return known.versions, nil
	}
	all, err := Versions(ctx, c.t, eventType)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, err
	}
	fresh := remembered{at: now}
	for _, r := range all {
		s, err := Parse([]byte(r.Text))
		if err != nil {
			return nil, wrapped(r.Key, err)
		}
		if fresh.versions == nil {
			fresh.versions = map[int]*Schema{}
		}
		fresh.versions[r.Version] = s
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.types) >= maxRemembered {
		clear(c.types)
	}
	c.types[eventType] = fresh
	return fresh.versions, nil
}
