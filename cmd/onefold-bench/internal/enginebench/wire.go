package enginebench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/dynamo/dynamohttp"
	"github.com/onefold/onefold/engine"
)

const (
	emptyServer = "a server with empty responses"
	dynalite    = "dynalite in memory"
)

func wireMeasures() []measure {
	return []measure{
		{"PutItem over HTTP, durable, 1 connection", wireMeasure(1, false)},
		{"PutItem over HTTP, durable, 32 connections", wireMeasure(32, false)},
		{"PutItem over HTTP, in memory, 1 connection", wireMeasure(1, true)},
		{"PutItem over HTTP, in memory, 32 connections", wireMeasure(32, true)},
		{"PutItem over HTTP beside dynalite, 1 connection", dynaliteMeasure(1)},
		{"PutItem over HTTP beside dynalite, 32 connections", dynaliteMeasure(32)},
	}
}

// endpoint is a server on a loopback port.
type endpoint struct {
	server *http.Server
	url    string
	done   chan error
}

func serve(h http.Handler) (*endpoint, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	e := &endpoint{server: &http.Server{Handler: h}, url: "http://" + l.Addr().String(), done: make(chan error, 1)}
	go func() { e.done <- e.server.Serve(l) }()
	return e, nil
}

func (e *endpoint) close() error {
	err := e.server.Close()
	if served := <-e.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// client returns an ordinary SDK client with so many connections and dummy credentials.
func client(url string, connections int) *dynamodb.Client {
	transport := &http.Transport{MaxIdleConnsPerHost: connections, MaxConnsPerHost: connections}
	return dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: &url, HTTPClient: &http.Client{Transport: transport},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
		}),
	})
}

// silence reads a request and sends an empty response.
func silence(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	io.WriteString(w, "{}") // the client may be gone
}

// wireMeasure compares the engine behind HTTP with a server that does nothing, through the same
// client.
func wireMeasure(connections int, memory bool) func(context.Context, *bench) (Result, error) {
	return func(ctx context.Context, b *bench) (r Result, err error) {
		empty, err := serve(http.HandlerFunc(silence))
		if err != nil {
			return Result{}, err
		}
		defer func() { err = errors.Join(err, empty.close()) }()
		r, err = b.overHTTP(ctx, connections, memory, client(empty.url, connections))
		r.Against, r.Goal = emptyServer, 0.6
		return r, err
	}
}

// dynaliteMeasure compares the engine in memory with dynalite in memory, through the same client.
func dynaliteMeasure(connections int) func(context.Context, *bench) (Result, error) {
	return func(ctx context.Context, b *bench) (r Result, err error) {
		if b.o.Dynalite == "" {
			return Result{}, errLeftOut
		}
		theirs, err := startDynalite(ctx, b.o.Dynalite)
		if err != nil {
			return Result{}, err
		}
		defer func() { err = errors.Join(err, theirs.stop()) }()
		reference := client(theirs.url, connections)
		if err := theirs.prepare(ctx, reference); err != nil {
			return Result{}, err
		}
		r, err = b.overHTTP(ctx, connections, true, reference)
		r.Against, r.Goal = dynalite, 1.5
		return r, err
	}
}

// overHTTP compares puts into the engine, behind HTTP, with puts into another server.
func (b *bench) overHTTP(ctx context.Context, connections int, memory bool, reference *dynamodb.Client) (r Result, err error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(b.o.Processors))
	db := b.live.db
	if memory {
		if db, err = emptyTable(ctx, b.o); err != nil {
			return Result{}, err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
	}
	ours, err := serveEngine(db)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, ours.close()) }()
	block := 60 + connections
	return b.pair(ctx, connections, put(client(ours.url, connections), block), put(reference, block))
}

func serveEngine(db *engine.DB) (*endpoint, error) {
	h, err := dynamohttp.New(db, dynamohttp.Options{})
	if err != nil {
		return nil, err
	}
	return serve(h)
}

func emptyTable(ctx context.Context, o Options) (*engine.DB, error) {
	db, err := engine.OpenMemory(engine.Options{Logger: o.Logger})
	if err != nil {
		return nil, err
	}
	if _, err := db.CreateTable(ctx, tableInput()); err != nil {
		return nil, errors.Join(fmt.Errorf("create a table in memory: %w", err), db.Close())
	}
	return db, nil
}
