package enginetest

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/dynamo/dynamohttp"
	"github.com/onefold/onefold/engine"
)

// DB is an engine.DB whose requests can be made to fail. It is safe for concurrent use.
type DB struct {
	*engine.DB
	t     T
	clock *clock

	mu     sync.Mutex // guards the fields below
	faults []*fault
	hits   int
	closed bool
}

var (
	_ dynamo.API          = (*DB)(nil)
	_ dynamo.Streams      = (*DB)(nil)
	_ dynamo.Putter       = (*DB)(nil)
	_ dynamo.RecordReader = (*DB)(nil)
	_ dynamo.ValuesReader = (*DB)(nil)
	_ dynamo.Statements   = (*DB)(nil)
)

// T is the part of *testing.T, *testing.B or *testing.F that a DB needs.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// Option configures New.
type Option func(*config)

type config struct {
	engine engine.Options
	start  time.Time
	faults []Fault
}

// With sets the options of the engine. Clock and TTLInterval are set by the DB.
func With(o engine.Options) Option { return func(c *config) { c.engine = o } }

// At sets the initial time of the clock; default 2026-01-01 00:00 UTC.
func At(start time.Time) Option { return func(c *config) { c.start = start } }

// RollShards ends a shard of a stream after the given number of records, so that readers see child
// shards.
func RollShards(records int) Option { return func(c *config) { c.engine.RollEvery = records } }

// DelayIndexes makes writes visible in global indexes only after the clock has advanced by the
// given time.
func DelayIndexes(by time.Duration) Option { return func(c *config) { c.engine.IndexDelay = by } }

// Inject injects faults from the start.
func Inject(faults ...Fault) Option {
	return func(c *config) { c.faults = append(c.faults, faults...) }
}

// New opens an empty database in memory and closes it when the test ends. Nothing happens in it by
// itself: time passes only in Advance. It logs nothing.
func New(t T, options ...Option) *DB {
	t.Helper()
	c := config{start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	c.engine.Logger = slog.New(slog.DiscardHandler)
	for _, o := range options {
		o(&c)
	}
	db := &DB{t: t, clock: &clock{at: c.start}}
	c.engine.Clock, c.engine.TTLInterval = db.clock.now, -1
	inner, err := engine.OpenMemory(c.engine)
	if err != nil {
		t.Fatalf("enginetest: %v", err)
	}
	db.DB = inner
	db.Inject(c.faults...)
	t.Cleanup(func() {
		if err := db.Close(); err != nil && !errors.Is(err, engine.ErrClosed) {
			t.Errorf("enginetest: close: %v", err)
		}
	})
	return db
}

// Close closes the database before the test ends. No faults occur any more.
func (db *DB) Close() error {
	db.mu.Lock()
	db.closed = true
	db.mu.Unlock()
	return db.DB.Close()
}

// Client returns an SDK client whose requests are answered in the process, without a socket. It
// does not retry, so that tests see the faults; options can change this.
func (db *DB) Client(options ...func(*dynamodb.Options)) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{Region: "us-east-1", Credentials: anybody, HTTPClient: dynamohttp.NewDoer(db),
		Retryer: aws.NopRetryer{}}, options...)
}

// StreamsClient is like Client, for DynamoDB Streams.
func (db *DB) StreamsClient(options ...func(*dynamodbstreams.Options)) *dynamodbstreams.Client {
	return dynamodbstreams.New(dynamodbstreams.Options{Region: "us-east-1", Credentials: anybody, HTTPClient: dynamohttp.NewDoer(db),
		Retryer: aws.NopRetryer{}}, options...)
}

// anybody are credentials for signing requests. The signatures are not verified.
var anybody = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "any", SecretAccessKey: "any"}, nil
})

// clock is a clock that tests advance.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// Now returns the database's time.
func (db *DB) Now() time.Time { return db.clock.now() }

// Advance advances the clock, deletes the items that expire, and trims stream records older than a
// day. A negative duration fails the test.
func (db *DB) Advance(by time.Duration) {
	db.t.Helper()
	if by < 0 {
		db.t.Fatalf("enginetest: Advance(%v): time goes forward only", by)
		return
	}
	db.clock.mu.Lock()
	db.clock.at = db.clock.at.Add(by)
	db.clock.mu.Unlock()
	if _, err := db.ExpireNow(context.Background()); err != nil {
		db.t.Errorf("enginetest: expire items: %v", err)
	}
	if err := db.TrimStreams(context.Background()); err != nil {
		db.t.Errorf("enginetest: trim streams: %v", err)
	}
}
