// Package function builds a Lambda function from its environment: it creates the clients and
// connects all parts. A process may have several functions.
package function

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/cmd/internal/delays"
	"github.com/onefold/onefold/cmd/internal/migration"
	"github.com/onefold/onefold/cmd/internal/products"
	"github.com/onefold/onefold/cmd/internal/remote"
	"github.com/onefold/onefold/cmd/onefold-lambda/internal/changes"
	"github.com/onefold/onefold/cmd/onefold-lambda/internal/emf"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/table"
)

// Environment is the environment of a function.
type Environment struct {
	Get     func(name string) string // returns an environment variable
	Out     io.Writer                // for metrics
	Logger  *slog.Logger
	Version string
}

// runtimeAPI is the variable with the address of Lambda's runtime API.
const runtimeAPI = "AWS_LAMBDA_RUNTIME_API"

// New returns the function that the environment selects. Errors: no_lambda, bad_mode, bad_store,
// bad_setting and those of the clients.
func New(ctx context.Context, e Environment) (lambda.Handler, error) {
	if e.Get(runtimeAPI) == "" {
		return nil, errors.New("no_lambda: this program runs in AWS Lambda, which sets " + runtimeAPI + "; deploy it with `onefold infra cloudformation --functions`, or run `onefold work` on a machine")
	}
	var s settings
	if err := s.read(e.Get); err != nil {
		return nil, err
	}
	makes := map[string]func(*base, *settings) (lambda.Handler, error){"stream": newStream, "work": newWork, "ingest": newIngest, "schedule": newSchedule}[s.Mode]
	if makes == nil {
		return nil, fmt.Errorf("bad_mode: ONEFOLD_MODE is %q: set it to stream, work, ingest or schedule", s.Mode)
	}
	where, err := remote.Parse(s.Store)
	if err != nil {
		return nil, fmt.Errorf("%w (ONEFOLD_STORE)", err)
	}
	clients, err := remote.Open(ctx, where)
	if err != nil {
		return nil, err
	}
	b := &base{
		clients: clients, table: table.New(migration.Guard(clients.Items, where.Table), where.Table, table.Options{}), logger: e.Logger, version: e.Version,
		metrics: emf.New(e.Out, s.Mode, where.Table, time.Now),
	}
	b.accounts = accounts.New(b.table, accounts.Options{})
	handler, err := makes(b, &s)
	if err != nil {
		return nil, err
	}
	// A partly filled table must not be used; the stream keeps its batches meanwhile. If the table
	// does not respond, the check is left to later requests.
	if err := migration.Check(ctx, clients.Items, where.Table); errors.Is(err, migration.ErrUnfinished) || errors.Is(err, migration.ErrAway) {
		return nil, err
	}
	return handler, nil
}

// base is shared by all functions.
type base struct {
	clients  remote.Clients
	table    *table.Table
	accounts *accounts.Store
	logger   *slog.Logger
	metrics  *emf.Writer
	version  string
}

// worker returns a worker like that of every other process. source may be nil. It caches no items,
// because other instances write the same items between two batches.
func (b *base) worker(source fold.Source) (*fold.Worker, error) {
	return fold.NewWorker(b.table, source, products.Folds(b.table, delays.Holds{}), fold.Options{Group: products.Group, NoCache: true, Logger: b.logger})
}

// stream returns the table's stream. If arn is "", the table is asked for it.
func (b *base) stream(ctx context.Context, arn string) (fold.Source, error) {
	if arn == "" {
		described, err := b.clients.Items.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(b.table.Name())})
		if err != nil {
			return nil, fmt.Errorf("no_stream: ONEFOLD_STREAM does not name the table's stream, and it cannot be asked for: %w", err)
		}
		arn = aws.ToString(described.Table.LatestStreamArn)
	}
	return streamsource.New(b.clients.Streams, arn), nil
}

func newStream(b *base, s *settings) (lambda.Handler, error) {
	w, err := b.worker(nil)
	if err != nil {
		return nil, err
	}
	return &changes.Handler{Worker: w, Metrics: b.metrics, Logger: b.logger, Clock: time.Now, Piece: s.Piece}, nil
}

// settings are environment variables. Those for ingest and notifications are named like the flags
// of onefold serve.
type settings struct {
	Mode     string        `name:"mode" env:"ONEFOLD_MODE"`
	Store    string        `name:"store" env:"ONEFOLD_STORE"`
	Stream   string        `name:"stream" env:"ONEFOLD_STREAM"`
	Piece    int           `name:"piece" env:"ONEFOLD_PIECE" default:"10000"`
	LeaseFor time.Duration `name:"lease-for" env:"ONEFOLD_LEASE_FOR" default:"30s"`
	Delays   delays.Flags  `embed:""`
	intakeSettings
}

const (
	maxPiece = 10_000 // records of a batch
	minLease = time.Second
	maxLease = 10 * time.Minute
)

func (s *settings) read(get func(string) string) error {
	parser, err := kong.New(s, kong.Exit(func(int) {}), kong.Resolvers(fromEnvironment(get)))
	if err != nil {
		return err
	}
	if _, err := parser.Parse(nil); err != nil {
		return fmt.Errorf("bad_setting: %w", err)
	}
	if s.Piece < 1 || s.Piece > maxPiece {
		return fmt.Errorf("bad_setting: ONEFOLD_PIECE, the number of records to fold at a time, is %d, must be 1 to %d", s.Piece, maxPiece)
	}
	if s.LeaseFor < minLease || s.LeaseFor > maxLease {
		return fmt.Errorf("bad_setting: ONEFOLD_LEASE_FOR, the lease duration, is %s, must be %s to %s", s.LeaseFor, minLease, maxLease)
	}
	if err := s.Delays.Check(); err != nil {
		return fmt.Errorf("bad_setting: %w", err)
	}
	return nil
}

// fromEnvironment resolves settings with get instead of the process's environment.
func fromEnvironment(get func(string) string) kong.Resolver {
	return kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		for _, name := range flag.Envs {
			if v := get(name); v != "" {
				return strings.TrimSpace(v), nil
			}
		}
		return nil, nil
	})
}

// handlerFunc is a function whose result is encoded as JSON.
type handlerFunc func(ctx context.Context, payload []byte) (any, error)

// Invoke implements lambda.Handler.
func (f handlerFunc) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	answer, err := f(ctx, payload)
	if err != nil {
		return nil, err
	}
	return json.Marshal(answer)
}
