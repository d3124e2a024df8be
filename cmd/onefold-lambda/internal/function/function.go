// Package function is what a function of Lambda does, as its environment says. It makes the clients and wires the rest; a process
// may have several.
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

	"github.com/onefold/onefold/accounts"
	"github.com/onefold/onefold/cmd/internal/delays"
	"github.com/onefold/onefold/cmd/internal/migration"
	"github.com/onefold/onefold/cmd/internal/products"
	"github.com/onefold/onefold/cmd/internal/remote"
	"github.com/onefold/onefold/cmd/onefold-lambda/internal/changes"
	"github.com/onefold/onefold/cmd/onefold-lambda/internal/emf"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/table"
)

// Environment is where a function runs.
type Environment struct {
	Get     func(name string) string // of the environment
	Out     io.Writer                // for metrics
	Logger  *slog.Logger
	Version string
}

// runtimeAPI is the variable that tells a function where Lambda is.
const runtimeAPI = "AWS_LAMBDA_RUNTIME_API"

// New makes the function that the environment asks for. Errors: no_lambda, bad_mode, bad_store, bad_setting and what the clients say.
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
	// What is half moved here must not be worked on; a stream keeps its batches meanwhile. A table that does not answer is for later.
	if err := migration.Check(ctx, clients.Items, where.Table); errors.Is(err, migration.ErrUnfinished) || errors.Is(err, migration.ErrAway) {
		return nil, err
	}
	return handler, nil
}

// base is what all functions stand on.
type base struct {
	clients  remote.Clients
	table    *table.Table
	accounts *accounts.Store
	logger   *slog.Logger
	metrics  *emf.Writer
	version  string
}

// worker makes the worker that folds as all others do. source may be nil. Other instances write the same items between two
// batches.
func (b *base) worker(source fold.Source) (*fold.Worker, error) {
	return fold.NewWorker(b.table, source, products.Folds(b.table, 0), fold.Options{Group: products.Group, Fresh: true, Logger: b.logger})
}

// stream is the table's stream. arn is what is known of it; "": the table is asked.
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

// settings are the variables of the environment. Those of ingest and of telling are called like the flags of onefold serve.
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

// fromEnvironment finds settings where they are told, which need not be the process's own environment.
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

// handlerFunc is a function that answers with what is written as JSON.
type handlerFunc func(ctx context.Context, payload []byte) (any, error)

// Invoke implements lambda.Handler.
func (f handlerFunc) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	answer, err := f(ctx, payload)
	if err != nil {
		return nil, err
	}
	return json.Marshal(answer)
}
