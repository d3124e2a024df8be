// Package migrate migrates a table to another store while it is in use. It copies the items and
// follows the change stream of the source. When the source has no writers any more, it compares
// both stores and sets the checkpoints of the target's folds.
package migrate

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/cmd/internal/migration"
	"github.com/onefold/onefold/cmd/internal/storeurl"
	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/lease"
	"github.com/onefold/onefold/internal/backoff"
	"github.com/onefold/onefold/table"
)

var (
	// ErrNotEmpty is returned for a target with items of its own or of another migration.
	ErrNotEmpty = errors.New("target_not_empty")
	// ErrInProgress is returned while another process runs the migration.
	ErrInProgress = errors.New("move_in_progress")
	// ErrTakenOver is returned if another process has taken over the migration.
	ErrTakenOver = errors.New("move_taken_over")
	// ErrTrimmed is returned if changes expired in the source before they were copied.
	ErrTrimmed = errors.New("source_trimmed")
	// ErrBusy is returned if the source is still written to when the migration should finish.
	ErrBusy = errors.New("source_busy")
	// ErrDiffers is returned if the target differs from the source.
	ErrDiffers = errors.New("target_differs")
	// ErrNoMove is returned if there is no migration to continue.
	ErrNoMove = errors.New("no_move")
)

// Store is one end of a migration.
type Store struct {
	*storeurl.Opened
	Name string // store URL, for messages
}

// Options configure a migration. The zero value has good defaults.
type Options struct {
	Segments int                                        // parallel scans; default 8
	MaxUnits float64                                    // maximum write units per second at the target; 0: no limit
	TakeOver bool                                       // do not wait for the process that holds the migration: it has died
	Restart  bool                                       // copy again from the beginning
	Trust    bool                                       // skip the comparison
	Progress func(Progress)                             // called at intervals, never concurrently; may be nil
	Logger   *slog.Logger                               // default slog.Default()
	Clock    func() time.Time                           // default time.Now
	Sleep    func(context.Context, time.Duration) error // default: a timer
}

// Progress is the progress of a migration.
type Progress struct {
	Phase  string  `json:"phase"` // those of relocation, "caught_up", "closing", "draining", "comparing"
	Items  int64   `json:"items"` // copied or compared
	Total  int64   `json:"total,omitempty"`
	Bytes  int64   `json:"bytes,omitempty"`
	Behind float64 `json:"behind,omitempty"` // seconds
}

// A process holds a migration so that no two processes write at once: every saveEvery it extends
// its hold for leaseFor. If it could not do so for freshFor, it stops writing, and a write takes at
// most writeWithin. freshFor and writeWithin together are less than leaseFor.
const (
	saveEvery   = 2 * time.Second
	freshFor    = 6 * time.Second
	writeWithin = 8 * time.Second
	leaseFor    = 15 * time.Second
)

// kept is how long a stream keeps changes.
const kept = 24 * time.Hour

// Move is a migration that this process runs.
type Move struct {
	from, to Store
	target   *table.Table
	o        Options
	write    *writer
	source   *tail // source's stream, whose changes are applied to the target
	own      *tail // target's stream; only its end matters

	saving sync.Mutex // serializes saves
	mu     sync.Mutex
	state  migration.State
	fresh  time.Time // time of the last save
}

// Begin starts a migration or resumes one. Errors: ErrNotEmpty, ErrInProgress, ErrTrimmed.
func Begin(ctx context.Context, from, to Store, o Options) (*Move, error) {
	o.Segments = cmp.Or(o.Segments, 8)
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = backoff.For
	}
	m := &Move{from: from, to: to, o: o, target: table.New(to.API, to.Table, table.Options{Clock: o.Clock})}
	m.write = newWriter(m)
	described, streamed, err := stream(ctx, from)
	if err != nil {
		return nil, fmt.Errorf("move: source: %w", err)
	}
	_, into, err := stream(ctx, to)
	if err != nil {
		return nil, fmt.Errorf("move: target: %w", err)
	}
	// Two URLs may name the same table; its stream then has the same ARN.
	if from.Name == to.Name || from.Shared && to.Shared && into == streamed {
		return nil, fmt.Errorf("bad_store: %s and %s are the same table", from.Name, to.Name)
	}
	m.source = newTail(from, streamed, m.applyAll, nil)
	m.own = newTail(to, into, nil, func(entity string) bool { return entity == migration.Fences.Name() })
	if err := m.claim(ctx, streamName(streamed), described); err != nil {
		return nil, err
	}
	return m, nil
}

// stream returns the approximate number of items of a store, and the ARN of its stream.
func stream(ctx context.Context, s Store) (items int64, arn string, err error) {
	out, err := s.API.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &s.Table})
	if err != nil {
		return 0, "", err
	}
	if arn = aws.ToString(out.Table.LatestStreamArn); arn == "" {
		return 0, "", fmt.Errorf("no_stream: the table %s of %s has no change stream; enable it with `onefold infra apply`", s.Table, s.Name)
	}
	return aws.ToInt64(out.Table.ItemCount), arn, nil
}

// streamName returns the part of a stream's ARN that does not depend on the way to reach it: an
// embedded table has no Region and account of its own.
func streamName(arn string) string {
	_, name, _ := strings.Cut(arn, ":table/")
	return name
}

// claim loads the state of the migration and takes hold of it.
func (m *Move) claim(ctx context.Context, streamed string, total int64) error {
	have, ok, err := migration.Read(ctx, m.target)
	if err != nil {
		return err
	}
	now := m.o.Clock()
	fresh := migration.State{
		Phase: migration.Copying, Peer: m.from.Name, Stream: streamed, Begun: now, Total: total, Version: have.Version,
		Segments: make([]migration.Segment, m.o.Segments), Source: map[string]migration.Position{}, Target: map[string]migration.Position{},
	}
	if err := m.checkSource(ctx, ok && have.Stream == streamed, have); err != nil {
		return err
	}
	switch {
	case !ok:
		if err := m.empty(ctx); err != nil {
			return err
		}
		m.state = fresh
	case have.Stream != streamed || have.Phase == migration.Away:
		return fmt.Errorf("%w: %s belongs to a migration from %s; choose an empty table", ErrNotEmpty, m.to.Name, have.Peer)
	case have.Phase != migration.Finished && now.Before(have.Until) && !m.o.TakeOver:
		return fmt.Errorf("%w: process %s holds this migration until %s UTC; stop it, wait until then, or use --take-over if it has died", ErrInProgress, have.Owner, have.Until.UTC().Format(time.TimeOnly))
	default:
		m.state = have
		if err := m.resume(fresh); err != nil {
			return err
		}
	}
	if m.state.Source == nil {
		m.state.Source = map[string]migration.Position{}
	}
	if m.state.Target == nil {
		m.state.Target = map[string]migration.Position{}
	}
	m.source.positions, m.own.positions = m.state.Source, m.state.Target
	m.source.readAt = m.state.Followed
	m.state.Peer, m.state.Owner = m.from.Name, rand.Text()[:8]
	if m.state.Phase == migration.Finished {
		return nil
	}
	return m.save(ctx)
}

// checkSource returns an error for a source that is an unfinished target, or that moved elsewhere.
// It also does so for one that moved here and was reopened: the finished migration no longer
// follows it, so its later changes would be missed.
func (m *Move) checkSource(ctx context.Context, here bool, target migration.State) error {
	err := migration.Check(ctx, m.from.API, m.from.Table)
	switch {
	case here && errors.Is(err, migration.ErrAway):
		return nil
	case err == nil && here && target.Phase == migration.Finished:
		return fmt.Errorf("%w: %s belongs to a migration that finished at %s UTC, and %s has been used since; choose an empty table",
			ErrNotEmpty, m.to.Name, target.Saved.UTC().Format(time.DateTime), m.from.Name)
	}
	return err
}

// resume checks whether the migration can be resumed.
func (m *Move) resume(fresh migration.State) error {
	switch {
	case m.state.Phase == migration.Finished && m.o.Restart:
		return fmt.Errorf("%w: the migration to %s is finished and the table may be in use; choose an empty table", ErrNotEmpty, m.to.Name)
	case m.o.Restart:
		fresh.Target, fresh.Version, fresh.Phase = m.state.Target, m.state.Version, migration.Copying
		fresh.Items = -1 // the target may have items that the source lacks
		m.state = fresh
	case m.state.Phase != migration.Finished && m.o.Clock().Sub(m.state.Saved) > kept:
		return trimmed("no changes were followed since " + m.state.Saved.UTC().Format(time.DateTime))
	}
	return nil
}

func trimmed(why string) error {
	return fmt.Errorf("%w: the source keeps changes for 24 hours, and some expired before they were copied (%s); use --restart to copy again", ErrTrimmed, why)
}

// empty returns an error for a table with items that no server creates by itself.
func (m *Move) empty(ctx context.Context) error {
	in := &dynamodb.ScanInput{TableName: &m.to.Table, ConsistentRead: aws.Bool(true)}
	for {
		out, err := m.to.API.Scan(ctx, in)
		if err != nil {
			return fmt.Errorf("move: target: %w", err)
		}
		for _, it := range out.Items {
			if copied(it) {
				return fmt.Errorf("%w: %s already holds items, such as %s of %s; choose an empty table", ErrNotEmpty, m.to.Name, text(it[table.AttrEntity]), text(it[table.AttrPK]))
			}
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
			return nil
		}
	}
}

// ours are the entities that belong to a table rather than to its data: the positions in its
// stream, and its migrations.
var ours = map[string]bool{
	fold.Checkpoints.Name(): true, lease.Leases.Name(): true, migration.States.Name(): true, migration.Fences.Name(): true,
}

// copied reports whether an item goes to the target.
func copied(it table.Item) bool { return it != nil && !ours[text(it[table.AttrEntity])] }

// save writes the state, on condition that no other process has. A save extends this process's
// hold.
func (m *Move) save(ctx context.Context) error { return m.saveAs(ctx, leaseFor) }

func (m *Move) saveAs(ctx context.Context, lease time.Duration) error {
	m.saving.Lock()
	defer m.saving.Unlock()
	m.mu.Lock()
	now := m.o.Clock()
	before := m.state.Version
	m.state.Version++
	m.state.Saved, m.state.Until = now, now.Add(lease)
	m.state.Source, m.state.Target, m.state.Followed = m.source.saved(), m.own.saved(), m.source.followed()
	state := m.state
	state.Segments = append([]migration.Segment(nil), state.Segments...)
	m.mu.Unlock()
	// The version is a compare-and-swap: a write fails if another process has taken over.
	condition := table.Absent()
	if before > 0 {
		condition = stateVersion.Eq(before)
	}
	err := migration.States.Put(ctx, m.target, &state, condition)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil {
		m.fresh = now
		return nil
	}
	m.state.Version = before
	if !errors.Is(err, table.ErrCondition) {
		return fmt.Errorf("move: %w", err)
	}
	// A failed condition may be the effect of an own write whose response was lost.
	now2, ok, readErr := migration.Read(ctx, m.target)
	if readErr == nil && ok && now2.Owner == state.Owner { // the write succeeded, only its response was lost
		m.state.Version, m.fresh = now2.Version, now
		return nil
	}
	return fmt.Errorf("%w: another process continues the migration", ErrTakenOver)
}

// Attributes in conditions on states.
var (
	stateVersion = table.FieldOf(migration.States, func(s *migration.State) *int64 { return &s.Version })
	stateOwner   = table.FieldOf(migration.States, func(s *migration.State) *string { return &s.Owner })
	statePhase   = table.FieldOf(migration.States, func(s *migration.State) *migration.Phase { return &s.Phase })
)

// Release lets another process continue at once.
func (m *Move) Release(ctx context.Context) error {
	if m.Phase() == migration.Finished {
		return nil
	}
	return m.saveAs(ctx, 0)
}

// Phase returns the phase of the migration.
func (m *Move) Phase() migration.Phase {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state.Phase
}

func (m *Move) setPhase(p migration.Phase, segments int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state.Phase, m.state.Segments = p, make([]migration.Segment, segments)
}

// keeping runs work while it extends this process's hold on the migration.
func (m *Move) keeping(ctx context.Context, work func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stopped := make(chan struct{})
	keep, stop := context.WithCancel(ctx)
	go func() {
		defer close(stopped)
		for m.o.Sleep(keep, saveEvery) == nil {
			err := m.save(keep)
			switch {
			case errors.Is(err, ErrTakenOver):
				cancel(err)
				return
			case err != nil && keep.Err() == nil:
				m.o.Logger.Warn("cannot save the migration's progress; retrying", "error", err)
			}
		}
	}()
	err := work(ctx)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, ErrTakenOver) {
		err = cause
	}
	stop()
	<-stopped
	if err != nil {
		return err
	}
	return m.save(ctx)
}

// held reports whether this process may write.
func (m *Move) held() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.o.Clock().Sub(m.fresh) < freshFor
}

// transient reports whether a request may succeed when retried.
func transient(err error) bool {
	code := dynamo.Code(err)
	return dynamo.IsThrottle(err) || code == "" && !errors.Is(err, context.Canceled) || code == "InternalServerError" || code == "ServiceUnavailable" || code == "TransactionConflictException"
}
