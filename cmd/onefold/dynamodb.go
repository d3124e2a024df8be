package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/onefold/onefold/cmd/onefold/internal/place"
	"github.com/onefold/onefold/dynamohttp"
	"github.com/onefold/onefold/engine"
)

// dynamodbCommands serve the embedded database to clients of DynamoDB and look after it.
type dynamodbCommands struct {
	Serve   dynamodbServe   `cmd:"" default:"withargs" help:"Speak DynamoDB's protocol, for any SDK and the aws command line."`
	Export  dynamodbExport  `cmd:"" help:"Write the items of a table as lines of DynamoDB's JSON, as exports of AWS are."`
	Import  dynamodbImport  `cmd:"" help:"Put items of lines of DynamoDB's JSON, or of an export of AWS, into a table."`
	Backup  dynamodbBackup  `cmd:"" help:"Write the whole database, as it is at one moment, to a directory or tar stream."`
	Restore dynamodbRestore `cmd:"" help:"Make a database from a backup."`
	Check   dynamodbCheck   `cmd:"" help:"Read every row and print what does not agree."`
	Compact dynamodbCompact `cmd:"" help:"Rewrite the files without what was deleted."`
	Sizes   dynamodbSizes   `cmd:"" help:"Print how large tables, indexes and streams are."`
}

// Help says what is done without naming a command. Kong prints it.
func (c *dynamodbCommands) Help() string {
	return "serve is what is done without naming a command:\n\n" +
		"  onefold dynamodb --memory      serve an empty database that is gone afterwards: for tests\n" +
		"  onefold dynamodb --data db     serve the database in the directory db, which is made when absent\n" +
		"  onefold dynamodb serve --help  its flags"
}

type dynamodbServe struct {
	Addr          string        `help:"Address to listen on." default:"127.0.0.1:8000" env:"ONEFOLD_DYNAMODB_ADDR"`
	Memory        bool          `help:"Keep everything in memory: nothing is read from or written to --data." env:"ONEFOLD_DYNAMODB_MEMORY"`
	Region        string        `help:"AWS Region that ARNs, stream records and signatures name." default:"us-east-1" env:"ONEFOLD_DYNAMODB_REGION"`
	AccessKey     []string      `help:"Access key that requests must be signed with; may be given several times. Default: any signature will do." placeholder:"ID:SECRET" env:"ONEFOLD_DYNAMODB_ACCESS_KEY"`
	AccessKeyFile string        `help:"File of access keys, one ID:SECRET a line." type:"path" env:"ONEFOLD_DYNAMODB_ACCESS_KEY_FILE"`
	IndexDelay    time.Duration `help:"Age at which a write is seen in global indexes, to find code that relies on seeing it at once. Default: at once." env:"ONEFOLD_DYNAMODB_INDEX_DELAY"`
	NoAuth        bool          `help:"Listen on an address that others can reach without asking for access keys." env:"ONEFOLD_DYNAMODB_NO_AUTH"`
	Origin        []string      `help:"Web origin whose pages may call without access keys, beside those on this machine." placeholder:"URL" env:"ONEFOLD_DYNAMODB_ORIGIN"`
}

// Help says how to use it. Kong prints it.
func (c *dynamodbServe) Help() string {
	return `Point an SDK at it with AWS_ENDPOINT_URL_DYNAMODB and AWS_ENDPOINT_URL_DYNAMODB_STREAMS, the aws command line with
--endpoint-url. Both need credentials; without --access-key any will do. Prometheus metrics are at /metrics; with access keys
they ask for one of them by HTTP basic authentication, which sends the secret: over TLS or on this machine only.`
}

// Validate refuses what it cannot serve with. Kong calls it.
func (c *dynamodbServe) Validate() error { return checkRegion(c.Region) }

// checkPlace refuses a directory beside --memory: one of the two was not meant.
func (c *dynamodbServe) checkPlace(line *kong.Context) error {
	for _, p := range line.Path {
		if c.Memory && p.Flag != nil && p.Flag.Name == "data" && !p.Resolved {
			return &exitError{exitUsage, errors.New("memory_or_data: --memory keeps nothing, so --data has no meaning beside it; leave one of them out")}
		}
	}
	return nil
}

// Run serves until it is told to stop.
func (c *dynamodbServe) Run(ctx context.Context, std streams, g *globals, line *kong.Context) error {
	if err := c.checkPlace(line); err != nil {
		return err
	}
	keys, err := c.accessKeys()
	if err != nil {
		return err
	}
	if err := c.checkAddress(keys); err != nil {
		return err
	}
	runtime.GOMAXPROCS(serverProcessors())
	logger := g.logger(std.err)
	db, err := c.open(g, logger)
	if err != nil {
		return err
	}
	return errors.Join(c.serve(ctx, std.err, db, keys, logger, g.Data), db.Close())
}

func (c *dynamodbServe) open(g *globals, logger *slog.Logger) (*engine.DB, error) {
	o := engine.Options{Logger: logger, Region: c.Region, IndexDelay: c.IndexDelay}
	if c.Memory {
		return engine.OpenMemory(o)
	}
	return place.OpenEngine(g.Data, o, false)
}

// serve listens, says where, and answers until ctx ends.
func (c *dynamodbServe) serve(ctx context.Context, out io.Writer, db *engine.DB, keys map[string]string, logger *slog.Logger, data string) error {
	registry := newDynamodbRegistry(db)
	handler, err := dynamohttp.New(db, dynamohttp.Options{
		Region: c.Region, Keys: keys, Origins: c.Origin, Registry: registry, Logger: logger,
	})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", c.Addr)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if c.Memory {
		data = "in memory"
	}
	fmt.Fprint(out, c.greeting(listener.Addr().String(), data, len(keys) > 0))
	mux := http.NewServeMux()
	mux.Handle("/metrics", dynamodbMetrics(registry, keys, c.NoAuth))
	mux.Handle(adminPath, handler.Signed(dynamodbAdmin(db, logger)))
	mux.Handle("/", handler)
	return runDynamodb(ctx, listener, mux, logger)
}

// greeting says how to reach the server.
func (c *dynamodbServe) greeting(address, data string, keys bool) string {
	url := "http://" + address
	credentials := "AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any"
	if keys {
		credentials = "AWS_ACCESS_KEY_ID=... AWS_SECRET_ACCESS_KEY=..."
	}
	return fmt.Sprintf("onefold serves DynamoDB at %s (%s)\n"+
		"  SDKs: export AWS_ENDPOINT_URL_DYNAMODB=%s AWS_ENDPOINT_URL_DYNAMODB_STREAMS=%s AWS_REGION=%s AWS_DEFAULT_REGION=%s %s\n"+
		"  CLI:  aws dynamodb list-tables --endpoint-url %s --region %s\n", url, data, url, url, c.Region, c.Region, credentials, url, c.Region)
}

// accessKeys reads the keys of flags and file.
func (c *dynamodbServe) accessKeys() (map[string]string, error) {
	lines := slices.Clone(c.AccessKey)
	if c.AccessKeyFile != "" {
		text, err := os.ReadFile(c.AccessKeyFile)
		if err != nil {
			return nil, fmt.Errorf("access keys: %w", err)
		}
		lines = append(lines, strings.Split(string(text), "\n")...)
	}
	keys := map[string]string{}
	for _, line := range lines {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		id, secret, ok := strings.Cut(line, ":")
		if !ok || id == "" || secret == "" {
			return nil, &exitError{exitUsage, errors.New("bad_access_key: an access key is written ID:SECRET")}
		}
		keys[id] = secret
	}
	if c.AccessKeyFile != "" && len(keys) == 0 {
		return nil, &exitError{exitUsage, fmt.Errorf("bad_access_key: there is no access key in %s", c.AccessKeyFile)}
	}
	if len(c.AccessKey) > 0 && len(keys) == 0 { // a variable that is not set must not open the server
		return nil, &exitError{exitUsage, errors.New("bad_access_key: --access-key is empty; leave it out to serve without keys")}
	}
	return keys, nil
}

// checkAddress refuses to give everybody on the network the database.
func (c *dynamodbServe) checkAddress(keys map[string]string) error {
	host, _, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("bad_address: --addr is HOST:PORT: %w", err)}
	}
	ip := net.ParseIP(host)
	if len(keys) > 0 || c.NoAuth || host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return &exitError{exitUsage, fmt.Errorf("open_to_all: %s can be reached from other machines; give --access-key ID:SECRET, or --no-auth when that is meant", c.Addr)}
}

// Limits of one connection. A client that keeps connections has to find them open, so they idle longer than in any SDK.
const (
	dynamodbReadHeader = 10 * time.Second
	dynamodbRead       = 2 * time.Minute
	dynamodbWrite      = 4 * time.Minute
	dynamodbIdle       = 10 * time.Minute
	dynamodbHeader     = 64 << 10
)

// runDynamodb serves until ctx ends, then lets the requests under way finish.
func runDynamodb(ctx context.Context, l net.Listener, h http.Handler, logger *slog.Logger) error {
	web := &http.Server{
		Handler: h, ReadHeaderTimeout: dynamodbReadHeader, ReadTimeout: dynamodbRead, WriteTimeout: dynamodbWrite, IdleTimeout: dynamodbIdle,
		MaxHeaderBytes: dynamodbHeader, ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	served := make(chan error, 1)
	go func() { served <- web.Serve(l) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainFor)
	defer cancel()
	err := web.Shutdown(grace)
	if err != nil { // requests that would outlive the database
		err = errors.Join(err, web.Close())
	}
	if served := <-served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// newDynamodbRegistry holds what is known of the process and of the capacity that the database has used.
func newDynamodbRegistry(db *engine.DB) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(processCollectors()...)
	registry.MustRegister(newCapacityCollector(db))
	return registry
}
