// Package storeurl opens the table that a store URL names: in a directory, in memory, or on a DynamoDB.
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

// Place is where a table is. The zero value is in memory.
type Place struct {
	Dir    string          // of the embedded engine
	Remote remote.Location // its Table is "" for an embedded table

	Patience time.Duration // how long a request waits for a service that does not answer: see resilient.Options
}

// Forms is what stores look like, for messages and help.
const Forms = "embedded:DIR, memory:, " + remote.Forms

// Parse reads a store. Without one, the table is in the directory data. Errors begin with bad_store.
func Parse(store, data string) (Place, error) {
	scheme, rest, ok := strings.Cut(store, ":")
	switch {
	case store == "":
		return Place{Dir: data}, nil
	case !ok:
		return Place{}, fmt.Errorf("bad_store: %q is not a store URL: %s", store, Forms)
	case scheme == "memory":
		if rest != "" {
			return Place{}, fmt.Errorf("bad_store: memory: takes no name, because no other process can open it")
		}
		return Place{}, nil
	case scheme == "embedded":
		if rest == "" {
			return Place{}, fmt.Errorf("bad_store: embedded: needs a directory, as in embedded:onefold-data")
		}
		return Place{Dir: rest}, nil
	case !strings.HasPrefix(scheme, "dynamodb"):
		return Place{}, fmt.Errorf("bad_store: %q is not a store URL: %s", store, Forms)
	}
	l, err := remote.Parse(store)
	return Place{Remote: l}, err
}

// Shared reports whether other processes may work on the table, too.
func (p Place) Shared() bool { return p.Remote.Table != "" }

// String is the place as a store.
func (p Place) String() string {
	switch {
	case p.Shared():
		return p.Remote.String()
	case p.Dir == "":
		return "memory:"
	}
	return "embedded:" + p.Dir
}

// Identity is what no other table has, whoever asks for it: the ARN of one of Amazon's, which arn is, else the store.
func (p Place) Identity(arn string) string {
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
	Shared  bool       // other processes may work on it, too
	Engine  *engine.DB // nil for a service

	Service       *resilient.Store   // what API is, for a service; nil for an engine
	StreamService *resilient.Streams // what Streams is
}

// Close closes what is embedded.
func (o *Opened) Close() error {
	if o.Engine == nil {
		return nil
	}
	return o.Engine.Close()
}

// Open opens the table. An embedded one is made if there is none, unless it must exist. One on a service must exist and fit: to make it
// there is an act of its own, for it costs money.
// One that is half moved here, or that moved away, is refused: see migration.Check. One that leaves later answers nothing any more.
func (p Place) Open(ctx context.Context, o engine.Options, existing bool) (*Opened, error) {
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

// OpenMoving is Open for what moves tables, whatever the table says of that.
func (p Place) OpenMoving(ctx context.Context, o engine.Options, existing bool) (*Opened, error) {
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

func (p Place) openRemote(ctx context.Context, logger *slog.Logger) (*Opened, error) {
	o, err := p.Clients(ctx, func(o *resilient.Options) { o.Logger, o.Patience = logger, p.Patience })
	if err != nil {
		return nil, err
	}
	err = products.Schema.Check(ctx, o.API, o.Table)
	_, gaveUp := dynamo.GaveUp(err)
	switch {
	case dynamo.IsNotFound(err):
		return nil, fmt.Errorf("no_table: there is no table %s at %s; create it with `onefold infra apply --store '%[2]s'`", o.Table, p)
	case gaveUp: // it was not reached, or takes no more for the moment
		return nil, fmt.Errorf("%w: %s: %w", remote.ErrAway, p, err)
	case dynamo.Code(err) != "":
		return nil, refused(p, err)
	case err != nil:
		return nil, fmt.Errorf("table_differs: %w; run `onefold infra apply --store '%s'` to fix everything that can be changed", err, p)
	}
	return o, nil
}

// wrongSecret is DynamoDB's code for a signature that it did not expect; its message explains signatures at length.
const wrongSecret = "InvalidSignatureException"

// refused says in a line why a service does not let somebody in: what it says itself, without what the SDK says around it.
func refused(p Place, err error) error {
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

// Clients speaks to the service that the table is on, whatever is there.
func (p Place) Clients(ctx context.Context, settings ...func(*resilient.Options)) (*Opened, error) {
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
