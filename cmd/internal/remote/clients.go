package remote

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/smithy-go/logging"

	"github.com/onefold/onefold/dynamo/resilient"
	"github.com/onefold/onefold/internal/redact"
)

// Clients speak to where a table is. They bear with it: see dynamo/resilient. The SDK's own do not send anything again.
type Clients struct {
	Items   *resilient.Store
	Streams *resilient.Streams
}

// connections is how many requests go to a service at a time before more connections are made than are kept: a worker writes 64
// items at once, and a server reads beside it.
const connections = 256

// defaultRegion is that of servers of one's own, which have none.
const defaultRegion = "us-east-1"

// Open makes the clients, with the credentials that AWS's tools would use: of the environment, the shared files, the machine or the
// container. A server of one's own gets them if the environment has any, and else such as any of them take. Nothing is sent yet. Settings change how the clients bear with the service.
func Open(ctx context.Context, l Location, settings ...func(*resilient.Options)) (Clients, error) {
	cfg, err := l.config(ctx)
	if err != nil {
		return Clients{}, err
	}
	var endpoint *string
	if l.Endpoint != "" {
		endpoint = &l.Endpoint
	}
	o := resilient.Options{Show: redact.Products()}
	for _, set := range settings {
		set(&o)
	}
	return Clients{
		Items:   resilient.Wrap(dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) { o.BaseEndpoint = endpoint }), o),
		Streams: resilient.WrapStreams(dynamodbstreams.NewFromConfig(cfg, func(o *dynamodbstreams.Options) { o.BaseEndpoint = endpoint }), o),
	}, nil
}

// whisper is where the SDK complains of answers that it did not read to their end, as when their request was given up: who asked has
// the error.
func whisper(_ logging.Classification, format string, v ...any) {
	slog.Debug("aws: " + fmt.Sprintf(format, v...))
}

// config is what the SDK has to know.
func (l Location) config(ctx context.Context) (aws.Config, error) {
	nothingAgain := func() aws.Retryer { return aws.NopRetryer{} }
	settings := []func(*config.LoadOptions) error{config.WithHTTPClient(awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConns, t.MaxIdleConnsPerHost = connections, connections
	})), config.WithRetryer(nothingAgain), config.WithLogger(logging.LoggerFunc(whisper))}
	if l.Region != "" {
		settings = append(settings, config.WithRegion(l.Region))
	}
	if l.Profile != "" {
		settings = append(settings, config.WithSharedConfigProfile(l.Profile))
	}
	if !l.amazon() && l.Profile == "" && os.Getenv("AWS_PROFILE") == "" && os.Getenv("AWS_ACCESS_KEY_ID") == "" {
		settings = append(settings, config.WithCredentialsProvider(aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "any", SecretAccessKey: "any"}, nil
		})))
	}
	cfg, err := config.LoadDefaultConfig(ctx, settings...)
	if err != nil {
		return aws.Config{}, fmt.Errorf("bad_credentials: %w", err)
	}
	if cfg.Region == "" {
		if l.amazon() {
			return aws.Config{}, fmt.Errorf("bad_region: no Region is set for %s: add ?region=REGION, or set AWS_REGION", l)
		}
		cfg.Region = defaultRegion
	}
	return cfg, nil
}

// patience is how long a service may take to answer for the first time.
const patience = 15 * time.Second

// Credentials are those that requests are signed with: see Open. Errors begin with bad_credentials, bad_region or no_credentials.
func (l Location) Credentials(ctx context.Context) (aws.Credentials, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cfg, err := l.config(ctx)
	if err != nil {
		return aws.Credentials{}, err
	}
	c, err := cfg.Credentials.Retrieve(ctx)
	if err != nil {
		err = fmt.Errorf("no_credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, which `aws configure export-credentials --format env` prints, or name a profile in AWS_PROFILE (%w)", err)
	}
	return c, err
}

// ErrAway is returned when nobody answers where a table is, which says nothing of the table.
var ErrAway = errors.New("no_server")

// Probe fails when nobody answers at a server of one's own, for the SDK would try again for minutes, and when there are no
// credentials for Amazon's, which clients would take for a service that is away. Errors: ErrAway, those of Credentials, or such as
// begin with bad_store.
func (l Location) Probe(ctx context.Context) error {
	if l.amazon() {
		_, err := l.Credentials(ctx)
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, l.Endpoint, nil)
	if err != nil {
		return fmt.Errorf("bad_store: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("%w: no response from %s: %w", ErrAway, l.Endpoint, err)
	}
	return response.Body.Close()
}
