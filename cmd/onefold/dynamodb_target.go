package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/onefold/onefold/cmd/internal/remote"
	"github.com/onefold/onefold/cmd/internal/storeurl"
	"github.com/onefold/onefold/cmd/onefold/internal/protocol"
	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/dynamo/resilient"
	"github.com/onefold/onefold/engine"
)

// dynamodbTarget selects the database of a command: the directory of --data, or a server at
// --endpoint.
type dynamodbTarget struct {
	Endpoint string `help:"URL of a running server, to use instead of the directory of --data." placeholder:"URL" env:"ONEFOLD_DYNAMODB_ENDPOINT"`
	Region   string `help:"AWS Region of the endpoint." default:"us-east-1" env:"AWS_REGION"`
}

// Validate checks the flags. Kong calls it.
func (t *dynamodbTarget) Validate() error { return checkRegion(t.Region) }

func checkRegion(region string) error {
	if region == "" {
		return errors.New("bad_region: the Region is empty; unset --region and its variable to use us-east-1")
	}
	return nil
}

// open opens the directory of --data, which must hold a database.
func (t *dynamodbTarget) open(g *globals, logs io.Writer) (*engine.DB, error) {
	o := g.engine(logs)
	o.TTLInterval = -1
	return openDatabase(g, o, true)
}

// openDatabase is openEngine with errors in terms of databases and their servers.
func openDatabase(g *globals, o engine.Options, existing bool) (*engine.DB, error) {
	db, err := storeurl.OpenEngine(g.Data, o, existing)
	switch {
	case errors.Is(err, storeurl.ErrNoTable):
		return nil, fmt.Errorf("no_database: there is no database in %s; give its directory with --data, or the URL of a running server with --endpoint", g.Data)
	case errors.Is(err, engine.ErrInUse):
		return nil, fmt.Errorf("in_use: %s is open in another process; stop that server, or give its URL with --endpoint", g.Data)
	}
	return db, err
}

// dynamodbItems is a target whose tables are accessed through DynamoDB's API.
type dynamodbItems struct {
	dynamodbTarget
}

// api returns a client of the target, and a function that closes it. If existing is set, the
// directory of --data must hold a database; otherwise it is created.
func (t *dynamodbItems) api(ctx context.Context, g *globals, logs io.Writer, existing bool) (dynamo.API, func() error, error) {
	if t.Endpoint == "" {
		o := g.engine(logs)
		o.Region = t.Region
		db, err := openDatabase(g, o, existing)
		if err != nil {
			return nil, nil, err
		}
		return db, db.Close, nil
	}
	l, err := t.location()
	if err != nil {
		return nil, nil, err
	}
	if err := l.Probe(ctx); err != nil {
		return nil, nil, err
	}
	clients, err := remote.Open(ctx, l, func(o *resilient.Options) { o.Logger = g.logger(logs) })
	if err != nil {
		return nil, nil, err
	}
	return clients.Items, func() error { return nil }, nil
}

// location returns the endpoint as a table location.
func (t *dynamodbTarget) location() (remote.Location, error) {
	u, err := url.Parse(t.Endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return remote.Location{}, &exitError{exitUsage, fmt.Errorf("bad_endpoint: --endpoint must be a URL such as http://127.0.0.1:8000, not %q", t.Endpoint)}
	}
	return remote.Location{Endpoint: t.Endpoint, Region: t.Region}, nil
}

// sign signs a request without a body as DynamoDB requests are signed, so that the secret is not
// sent.
func (t *dynamodbTarget) sign(r *http.Request) error {
	l, err := t.location()
	if err != nil {
		return err
	}
	credentials, err := l.Credentials(r.Context())
	if err != nil {
		return err
	}
	nothing := sha256.Sum256(nil)
	if err := v4.NewSigner().SignHTTP(r.Context(), credentials, r, hex.EncodeToString(nothing[:]), "dynamodb", t.Region, time.Now()); err != nil {
		return fmt.Errorf("sign: %w", err)
	}
	return nil
}

// admin requests a maintenance task for which DynamoDB has no operation from a running server. The
// caller closes the body.
func (t *dynamodbTarget) admin(ctx context.Context, task string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(t.Endpoint, "/")+protocol.AdminPath+task, nil)
	if err != nil {
		return nil, &exitError{exitUsage, fmt.Errorf("bad_endpoint: %w", err)}
	}
	request.Header.Set(protocol.AdminHeader, "1")
	if err := t.sign(request); err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("no_server: %w", err)
	}
	if response.StatusCode == http.StatusOK {
		return response.Body, nil
	}
	const most = 4 << 10
	text, err := io.ReadAll(io.LimitReader(response.Body, most))
	var own protocol.AdminError
	if json.Unmarshal(text, &own) == nil && own.Error.Code != "" {
		return nil, errors.Join(fmt.Errorf("%s: %s", own.Error.Code, own.Error.Message), response.Body.Close())
	}
	return nil, errors.Join(fmt.Errorf("server_refused: %s responded %s: %s", t.Endpoint, response.Status, strings.TrimSpace(string(text))), err, response.Body.Close())
}
