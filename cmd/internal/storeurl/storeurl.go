// Package storeurl opens the store of the command line: in a directory, in memory, or on DynamoDB.
package storeurl

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/aws/smithy-go"

	"github.com/onefold/onefold/cmd/internal/migration"
	"github.com/onefold/onefold/cmd/internal/products"
	"github.com/onefold/onefold/cmd/internal/remote"
	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/dynamo/resilient"
	"github.com/onefold/onefold/engine"
)

// Location is the location of a table, as in a store URL. The zero value is in memory.
type Location struct {
	Dir    string          // directory of the embedded engine
	Remote remote.Location // Table is "" for an embedded table

	Patience time.Duration // how long requests retry an unavailable service: see resilient.Options
}

// Forms describes valid store URLs for messages and help texts.
const Forms = "embedded:DIR, memory:, " + remote.Forms

// Parse parses a store URL. If store is empty, the table is in the directory data. Errors begin
// with bad_store.
func Parse(store, data string) (Location, error) {
	scheme, rest, ok := strings.Cut(store, ":")
	switch {
	case store == "":
		return Location{Dir: data}, nil
	case !ok:
		return Location{}, fmt.Errorf("bad_store: %q is not a store URL: %s", store, Forms)
	case scheme == "memory":
		if rest != "" {
			return Location{}, fmt.Errorf("bad_store: memory: takes no name, because no other process can open it")
		}
		return Location{}, nil
	case scheme == "embedded":
		if rest == "" {
			return Location{}, fmt.Errorf("bad_store: embedded: needs a directory, as in embedded:onefold-data")
		}
		return Location{Dir: rest}, nil
	case !strings.HasPrefix(scheme, "dynamodb"):
		return Location{}, fmt.Errorf("bad_store: %q is not a store URL: %s", store, Forms)
	}
	l, err := remote.Parse(store)
	return Location{Remote: l}, err
}

// Shared reports whether other processes may use the table too.
func (p Location) Shared() bool { return p.Remote.Table != "" }

// String returns the store URL.
func (p Location) String() string {
	switch {
	case p.Shared():
		return p.Remote.String()
	case p.Dir == "":
		return "memory:"
	}
	return "embedded:" + p.Dir
}

// Identity returns a unique ID of the table: the ARN of a table at AWS, given in arn, otherwise the
// store URL.
func (p Location) Identity(arn string) string {
	if p.Shared() && p.Remote.Endpoint == "" && arn != "" {
		return arn
	}
	p.Remote.Profile = ""
	return p.String()
}

// Opened is an open table.
type Opened struct {
	API     dynamo.API
	Streams dynamo.Streams
	Table   string
	Shared  bool       // other processes may use it too
	Engine  *engine.DB // nil for a service

	Service       *resilient.Store   // the value of API for a service; nil for an engine
	StreamService *resilient.Streams // the value of Streams for a service
}

// Close closes an embedded database.
func (o *Opened) Close() error {
	if o.Engine == nil {
		return nil
	}
	return o.Engine.Close()
}

// Open opens the table. An embedded table is created if it does not exist, unless existing is set.
// A table on a service must exist and match the schema; creating it costs money, so it is a
// separate command. A table that is being moved here or has moved away is an error: see
// migration.Check. After a table moves away while open, requests to it fail.
func (p Location) Open(ctx context.Context, o engine.Options, existing bool) (*Opened, error) {
	opened, err := p.OpenMoving(ctx, o, existing)
	if err != nil {
		return nil, err
	}
	if err := migration.Check(ctx, opened.API, opened.Table); err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	opened.API = migration.Guard(opened.API, opened.Table)
	return opened, nil
}

// OpenMoving is Open for migrations. It ignores the table's migration state.
func (p Location) OpenMoving(ctx context.Context, o engine.Options, existing bool) (*Opened, error) {
	switch {
	case p.Shared():
		return p.openRemote(ctx, o.Logger)
	case p.Dir == "":
		db, err := engine.OpenMemory(o)
		if err != nil {
			return nil, err
		}
		return ready(ctx, db)
	}
	db, err := OpenEngine(p.Dir, o, existing)
	if err != nil {
		return nil, err
	}
	return ready(ctx, db)
}

func ready(ctx context.Context, db *engine.DB) (*Opened, error) {
	if err := products.Schema.Ensure(ctx, db, products.TableName); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &Opened{API: db, Streams: db, Table: products.TableName, Engine: db}, nil
}

func (p Location) openRemote(ctx context.Context, logger *slog.Logger) (*Opened, error) {
	o, err := p.Clients(ctx, func(o *resilient.Options) { o.Logger, o.Patience = logger, p.Patience })
	if err != nil {
		return nil, err
	}
	err = products.Schema.Check(ctx, o.API, o.Table)
	_, gaveUp := dynamo.GaveUp(err)
	switch {
	case dynamo.IsNotFound(err):
		return nil, fmt.Errorf("no_table: there is no table %s at %s; create it with `onefold infra apply --store '%[2]s'`", o.Table, p)
	case gaveUp: // unreachable, or overloaded at the moment
		return nil, fmt.Errorf("%w: %s: %w", remote.ErrAway, p, err)
	case dynamo.Code(err) != "":
		return nil, refused(p, err)
	case err != nil:
		return nil, fmt.Errorf("table_differs: %w; run `onefold infra apply --store '%s'` to fix everything that can be changed", err, p)
	}
	return o, nil
}

// wrongSecret is DynamoDB's error code for an unexpected signature. Its message explains signatures
// at length.
const wrongSecret = "InvalidSignatureException"

// refused summarizes in one line why a service denies access: the service's own message without the
// SDK's context.
func refused(p Location, err error) error {
	code, message := dynamo.Code(err), err.Error()
	var api smithy.APIError
	if errors.As(err, &api) {
		message = api.ErrorMessage()
	}
	if code == wrongSecret {
		message = "the secret key is wrong"
	}
	message, _, _ = strings.Cut(message, "\n")
	return fmt.Errorf("no_access: %s: %s (%s)", p, message, code)
}

// Clients returns clients of the table's service, whether or not the table exists.
func (p Location) Clients(ctx context.Context, settings ...func(*resilient.Options)) (*Opened, error) {
	if err := p.Remote.Probe(ctx); err != nil {
		return nil, err
	}
	clients, err := remote.Open(ctx, p.Remote, settings...)
	if err != nil {
		return nil, err
	}
	return &Opened{
		API: clients.Items, Streams: clients.Streams, Table: p.Remote.Table, Shared: true,
		Service: clients.Items, StreamService: clients.Streams,
	}, nil
}
