package subscription

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"time"
	"unicode/utf8"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/internal/backoff"
)

// Settings are those of a subscription whose events are pulled. They cannot be changed.
type Settings struct {
	EventTypes     []string      `dynamodbav:"eventTypes,omitempty"`     // at most 50; default all
	AggregateTypes []string      `dynamodbav:"aggregateTypes,omitempty"` // at most 50; default all
	Tags           []string      `dynamodbav:"tags,omitempty"`           // at most 16; an event must have all of them
	Attempts       int           `dynamodbav:"attempts"`                 // attempts to handle an event before it is parked; default 10, negative: no limit
	FirstDelay     time.Duration `dynamodbav:"firstDelay"`               // upper bound of the random wait before the first retry, which doubles with each; default 200 ms
	MaxDelay       time.Duration `dynamodbav:"maxDelay"`                 // its maximum; default 30 s
}

// Limits of settings.
const (
	maxFilterTypes = 50
	maxFilterBytes = 128 // of a type or tag
	maxDelay       = 24 * time.Hour
	maxAttempts    = 1000
)

func (s Settings) withDefaults() Settings {
	if s.Attempts == 0 {
		s.Attempts = 10
	}
	if s.FirstDelay == 0 {
		s.FirstDelay = 200 * time.Millisecond
	}
	if s.MaxDelay == 0 {
		s.MaxDelay = max(30*time.Second, s.FirstDelay)
	}
	return s
}

func (s *Settings) check() error {
	for what, list := range map[string][]string{"event types": s.EventTypes, "aggregate types": s.AggregateTypes, "tags": s.Tags} {
		most := maxFilterTypes
		if what == "tags" {
			most = eventstore.MaxTags
		}
		if len(list) > most {
			return fmt.Errorf("%w: use at most %d %s, not %d", ErrDefinition, most, what, len(list))
		}
		for _, v := range list {
			if v == "" || len(v) > maxFilterBytes || !utf8.ValidString(v) {
				return fmt.Errorf("%w: %s: %q: use 1 to %d bytes", ErrDefinition, what, v, maxFilterBytes)
			}
		}
	}
	switch {
	case s.Attempts > maxAttempts:
		return fmt.Errorf("%w: use at most %d attempts, or a negative number for no limit", ErrDefinition, maxAttempts)
	case s.FirstDelay < time.Millisecond || s.FirstDelay > s.MaxDelay || s.MaxDelay > maxDelay:
		return fmt.Errorf("%w: the first delay is from 1 ms to the maximum delay, which is at most 24 h", ErrDefinition)
	}
	return nil
}

// only returns the filter of a partition.
func (s *Settings) only(partition, of int) []eventstore.FeedOption {
	return []eventstore.FeedOption{
		eventstore.OfType(s.EventTypes...), eventstore.OfAggregateType(s.AggregateTypes...), eventstore.WithTags(s.Tags...), eventstore.OfPartition(partition, of),
	}
}

// mayFail reports whether an event that has failed a number of times is to be tried again.
func (s *Settings) mayFail(times int) bool { return s.Attempts < 0 || times < s.Attempts }

// delay returns how long to wait after a number of failed attempts, from 1.
func (s *Settings) delay(times int) time.Duration {
	most := s.FirstDelay
	for n := 1; n < times && most < s.MaxDelay; n++ {
		most *= 2
	}
	most = min(most, s.MaxDelay)
	return backoff.Delay(0, most, most)
}

// FromEnd as the position of Create means that only later events are delivered.
const FromEnd = math.MaxInt64

// Create creates a subscription whose events are pulled, with events after a position of the feed: 0
// for all, FromEnd for later ones. partitions is as in Definition. Creating it again with the same
// settings has no effect, whatever the position. Errors: ErrDefinition, ErrExists, those of the
// store.
func Create(ctx context.Context, s *eventstore.Store, name string, partitions int, after int64, settings Settings) (created bool, err error) {
	settings, partitions = settings.withDefaults(), max(partitions, 1)
	if err := errors.Join(checkPlace(s, name, partitions), settings.check()); err != nil {
		return false, err
	}
	head, err := s.FeedHead(ctx)
	if err != nil {
		return false, fmt.Errorf("subscription %s: create: %w", name, err)
	}
	if after == FromEnd {
		after = head.Position
	}
	if after < 0 || after > head.Position {
		return false, fmt.Errorf("%w: the feed has positions 0 to %d, not %d", ErrDefinition, head.Position, after)
	}
	r := Record{Key: Key{name}, Partitions: partitions, Start: after, CreatedAt: s.Table().Now().UTC(), Pulled: &settings}
	stored, created, err := createRecord(ctx, s.Table(), r)
	switch {
	case err != nil:
		return false, fmt.Errorf("subscription %s: create: %w", name, err)
	case stored.Partitions != partitions || !stored.Pulled.same(&settings):
		return false, fmt.Errorf("%w: %q", ErrExists, name)
	}
	return created, nil
}

// same reports whether settings are the same; nil has none.
func (s *Settings) same(o *Settings) bool {
	if s == nil {
		return false
	}
	a, b := *s, *o
	for _, list := range []*[]string{&a.EventTypes, &a.AggregateTypes, &a.Tags, &b.EventTypes, &b.AggregateTypes, &b.Tags} {
		if len(*list) == 0 {
			*list = nil
		}
	}
	return reflect.DeepEqual(a, b)
}
