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
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/cmd/onefold/internal/place"
	"github.com/onefold/onefold/cmd/onefold/internal/protocol"
	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
)

// dynamodbTarget says which database a command works on: the directory of --data, or what runs at an endpoint.
type dynamodbTarget struct {
	Endpoint string `help:"URL of a running server, instead of the directory of --data." placeholder:"URL" env:"ONEFOLD_DYNAMODB_ENDPOINT"`
	Region   string `help:"AWS Region of the endpoint." default:"us-east-1" env:"AWS_REGION"`
}

// Validate refuses what no command can work with. Kong calls it.
func (t *dynamodbTarget) Validate() error { return checkRegion(t.Region) }

func checkRegion(region string) error {
	if region == "" {
		return errors.New("bad_region: the Region is empty; leave --region and its variable out for us-east-1")
	}
	return nil
}

// open opens the directory of --data, which must hold a database.
func (t *dynamodbTarget) open(g *globals, logs io.Writer) (*engine.DB, error) {
	return openDatabase(g, engine.Options{Logger: g.logger(logs), TTLInterval: -1}, true)
}

// openDatabase is openEngine with errors that speak of databases and servers of them.
func openDatabase(g *globals, o engine.Options, existing bool) (*engine.DB, error) {
	db, err := place.OpenEngine(g.Data, o, existing)
	switch {
	case errors.Is(err, place.ErrNoTable):
		return nil, fmt.Errorf("no_database: there is no database in %s; give --data DIR of one, or --endpoint URL of a running server", g.Data)
	case errors.Is(err, engine.ErrInUse):
		return nil, fmt.Errorf("in_use: %s is open in another process; give --endpoint URL of that server, or stop it", g.Data)
	}
	return db, err
}

// dynamodbItems is a target whose tables are read and written through DynamoDB's API.
type dynamodbItems struct {
	dynamodbTarget
}

// api returns what the target is spoken to with. The directory of --data must hold a database unless it may be made.
func (t *dynamodbItems) api(ctx context.Context, g *globals, logs io.Writer, existing bool) (dynamo.API, func() error, error) {
	if t.Endpoint == "" {
		db, err := openDatabase(g, engine.Options{Logger: g.logger(logs), Region: t.Region}, existing)
		if err != nil {
			return nil, nil, err
		}
		return db, db.Close, nil
	}
	credentials, err := endpointCredentials(t.Endpoint)
	if err != nil {
		return nil, nil, err
	}
	if err := probe(ctx, t.Endpoint); err != nil {
		return nil, nil, err
	}
	const attempts = 10
	return dynamodb.New(dynamodb.Options{
		Region: t.Region, BaseEndpoint: &t.Endpoint, RetryMaxAttempts: attempts,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return credentials, nil }),
	}), func() error { return nil }, nil
}

// probe fails when nobody answers at an endpoint: the SDK would try again for minutes.
func probe(ctx context.Context, endpoint string) error {
	const patience = 15 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint, nil)
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("bad_endpoint: %w", err)}
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("no_server: %w", err)
	}
	return response.Body.Close()
}

// endpointCredentials reads the access key from the environment. A server of our own may do without.
func endpointCredentials(endpoint string) (aws.Credentials, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return aws.Credentials{}, &exitError{exitUsage, fmt.Errorf("bad_endpoint: --endpoint is a URL such as http://127.0.0.1:8000, not %q", endpoint)}
	}
	c := aws.Credentials{AccessKeyID: os.Getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: os.Getenv("AWS_SECRET_ACCESS_KEY"), SessionToken: os.Getenv("AWS_SESSION_TOKEN")}
	if c.AccessKeyID != "" && c.SecretAccessKey != "" {
		return c, nil
	}
	if strings.HasSuffix(u.Hostname(), ".amazonaws.com") {
		return c, errors.New("no_credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; `aws configure export-credentials --format env` prints them")
	}
	return aws.Credentials{AccessKeyID: "any", SecretAccessKey: "any"}, nil
}

// sign signs a request without a body, as every request to DynamoDB is: the secret stays here.
func (t *dynamodbTarget) sign(r *http.Request) error {
	credentials, err := endpointCredentials(t.Endpoint)
	if err != nil {
		return err
	}
	nothing := sha256.Sum256(nil)
	if err := v4.NewSigner().SignHTTP(r.Context(), credentials, r, hex.EncodeToString(nothing[:]), "dynamodb", t.Region, time.Now()); err != nil {
		return fmt.Errorf("sign: %w", err)
	}
	return nil
}

// admin asks a running server for something that DynamoDB has no operation for. The caller closes the body.
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
	return nil, errors.Join(fmt.Errorf("server_refused: %s answers %s: %s", t.Endpoint, response.Status, strings.TrimSpace(string(text))), err, response.Body.Close())
}
