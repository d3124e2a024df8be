package sqlprojection

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/projection"
	"github.com/onefold/onefold/internal/backoff"
)

// Errors of projections.
var (
	// ErrDefinition is returned for an invalid definition, and for one that changed without a new
	// version.
	ErrDefinition = errors.New("sqlprojection: invalid definition")
	// ErrNotFound is returned for a version that is not in the database: Start was not called, or
	// the version was removed.
	ErrNotFound = errors.New("sqlprojection: version not found")
	// ErrPosition is returned when the stored position went back, because a backup of the database was
	// restored: Run continues from there. It is also returned while the feed ends before the position,
	// because an older backup of the event store was restored: restore the database to before that, or
	// increase the version.
	ErrPosition = errors.New("sqlprojection: the position went back")
	// ErrParked is returned when a version that has parked events would become active by itself.
	ErrParked = errors.New("sqlprojection: events are parked")
	// ErrFull is returned when Options.MostParked events are parked.
	ErrFull = errors.New("sqlprojection: too many events are parked")
	// ErrActive is returned when the active version would be removed.
	ErrActive = errors.New("sqlprojection: version is active")
	// ErrBehind is returned by WaitFor when the active version takes too long.
	ErrBehind = errors.New("sqlprojection: behind")
)

// Definition defines a projection into SQL tables.
type Definition struct {
	Name string // 1 to 64 bytes of UTF-8, without NUL
	// Version is the version of Apply, Schema and Only, from 1. Increase it when one of them changes.
	Version int
	// Tables lists the tables, and views over them, without version suffix, in the order in which
	// Schema creates them: 1 to 48 bytes of a-z, 0-9 and _, beginning with a letter. A version has tables of its own:
	// {books} in Schema and in the statements of a Tx stands for the table books of this version,
	// such as books_v1. A view with the name of the table shows the active version.
	Tables []string
	// Schema creates the tables and their indexes, as statements separated by semicolons. Names of
	// indexes need the version as well, for example {books}_by_member.
	Schema string
	Only   []eventstore.FeedOption // filter; default all events
	// Apply applies an event. It must depend only on the event and the tables, and change nothing
	// but the tables: it may run several times until one transaction succeeds. An error or a panic
	// rolls back the effects of the whole append. See also Handlers.
	Apply func(tx *Tx, e *eventstore.FeedEvent) error
}

// Options configures a Projection. The zero value has good defaults.
type Options struct {
	Feed projection.SubscribeOptions // how Run follows the feed; Only is that of the definition

	// ParkAfter is the number of attempts to apply an event after which its aggregate is parked, so
	// that other aggregates continue. Attempts that PostgreSQL ends because of a deadlock, a
	// serialization failure, lock_timeout or a lack of resources do not count. Default 0: never, a
	// failing event blocks all later ones.
	ParkAfter  int
	MostParked int // parked events of a version, beyond which it blocks; default 1,000

	Within time.Duration // maximum wait of WaitFor; default 5 s
	Poll   time.Duration // polling interval of WaitFor; default 10 ms

	Clock func() time.Time                           // of the times in the tables, and of Within; default time.Now
	Sleep func(context.Context, time.Duration) error // waits, or returns the context's error; default: a timer
}

// Projection maintains the tables of a version. It is safe for concurrent use.
type Projection struct {
	def    Definition
	o      Options
	s      *eventstore.Store
	db     *sql.DB
	digest string // of tables and schema
	names  *strings.Replacer
}

// New returns a projection of a store's events into a database. Errors: ErrDefinition.
func New(s *eventstore.Store, db *sql.DB, d Definition, o Options) (*Projection, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	d.Tables = slices.Clone(d.Tables)
	o.Feed.Only = d.Only
	for v, to := range map[*time.Duration]time.Duration{&o.Within: 5 * time.Second, &o.Poll: 10 * time.Millisecond} {
		if *v <= 0 {
			*v = to
		}
	}
	if o.MostParked <= 0 {
		o.MostParked = 1000
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = backoff.For
	}
	sum := sha256.Sum256([]byte(strings.Join(d.Tables, " ") + "\n" + d.Schema))
	p := &Projection{def: d, o: o, s: s, db: db, digest: hex.EncodeToString(sum[:])}
	var pairs []string
	for _, t := range d.Tables {
		pairs = append(pairs, "{"+t+"}", tableOf(t, d.Version))
	}
	p.names = strings.NewReplacer(pairs...)
	return p, nil
}

var (
	tableName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)
	versioned = regexp.MustCompile(`_v[0-9]+$`)
)

func (d *Definition) check() error {
	switch {
	case d.Name == "" || len(d.Name) > 64 || strings.ContainsRune(d.Name, 0) || !utf8.ValidString(d.Name):
		return fmt.Errorf("%w: name %q: use 1 to 64 bytes of UTF-8, without NUL", ErrDefinition, d.Name)
	case d.Version < 1 || d.Version > 1_000_000 || len(d.Tables) == 0 || d.Schema == "" || d.Apply == nil:
		return fmt.Errorf("%w: %s: set Version (from 1), Tables, Schema and Apply", ErrDefinition, d.Name)
	}
	for i, t := range d.Tables {
		if !tableName.MatchString(t) || versioned.MatchString(t) || strings.HasPrefix(t, "onefold_") || slices.Contains(d.Tables[:i], t) {
			return fmt.Errorf("%w: %s: table %q: use different names of 1 to 48 bytes, a-z, 0-9 and _, that neither begin with onefold_ nor end in a version", ErrDefinition, d.Name, t)
		}
		if !strings.Contains(d.Schema, "{"+t+"}") {
			return fmt.Errorf("%w: %s: Schema does not create {%s}", ErrDefinition, d.Name, t)
		}
	}
	return nil
}

// tableOf returns the name of a version's table. It needs no quotes.
func tableOf(name string, version int) string { return fmt.Sprintf("%s_v%d", name, version) }

// SQL returns a statement with the names of this version's tables in place of {name}.
func (p *Projection) SQL(statement string) string { return p.names.Replace(statement) }

// Name returns the name of the definition.
func (p *Projection) Name() string { return p.def.Name }

func (p *Projection) wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("sqlprojection: %s %s version %d: %w", what, p.def.Name, p.def.Version, err)
}

func (p *Projection) now() string { return p.o.Clock().UTC().Format(timeFormat) }

// timeFormat is how times are stored, so that they sort and people can read them in any database.
const timeFormat = "2006-01-02T15:04:05.000Z"
