package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"time"

	"github.com/alecthomas/kong"

	"github.com/onefold/onefold/cmd/internal/goruntime"
	"github.com/onefold/onefold/cmd/internal/storeurl"
	"github.com/onefold/onefold/cmd/onefold/internal/listen"
	"github.com/onefold/onefold/cmd/onefold/internal/memory"
	"github.com/onefold/onefold/cmd/onefold/internal/protocol"
	"github.com/onefold/onefold/cmd/onefold/internal/scrub"
	"github.com/onefold/onefold/cmd/onefold/internal/supervise"
	"github.com/onefold/onefold/cmd/onefold/internal/workcli"
	"github.com/onefold/onefold/dynamo/dynamohttp"
	"github.com/onefold/onefold/engine"
)

// dynamodbCommands serve the embedded database over DynamoDB's protocol and maintain it.
type dynamodbCommands struct {
	Serve   dynamodbServe   `cmd:"" default:"withargs" help:"Serve DynamoDB's protocol for any SDK and the AWS CLI."`
	Export  dynamodbExport  `cmd:"" help:"Export a table as DynamoDB JSON lines, like an AWS export."`
	Import  dynamodbImport  `cmd:"" help:"Import DynamoDB JSON lines, or an AWS export, into a table."`
	Backup  dynamodbBackup  `cmd:"" help:"Write a consistent backup of the whole database to a directory or tar stream."`
	Restore dynamodbRestore `cmd:"" help:"Create a database from a backup."`
	Check   dynamodbCheck   `cmd:"" help:"Read every row and print inconsistencies."`
	Salvage dynamodbSalvage `cmd:"" help:"Create a database from everything that can be read of a damaged one."`
	Compact dynamodbCompact `cmd:"" help:"Rewrite the files without deleted data."`
	Sizes   dynamodbSizes   `cmd:"" help:"Print the sizes of tables, indexes and streams."`
}

// Help names the default command. Kong prints it.
func (c *dynamodbCommands) Help() string {
	return "serve is the default command:\n\n" +
		"  onefold dynamodb --memory      serve an empty database in memory, for tests\n" +
		"  onefold dynamodb --data db     serve the database in the directory db, which is created if absent\n" +
		"  onefold dynamodb serve --help  show the flags of serve"
}

type dynamodbServe struct {
	Addr          string        `help:"Address to listen on." default:"127.0.0.1:8000" env:"ONEFOLD_DYNAMODB_ADDR"`
	Memory        bool          `help:"Keep everything in memory, without reading or writing --data." env:"ONEFOLD_DYNAMODB_MEMORY"`
	Region        string        `help:"AWS Region in ARNs, stream records and signatures." default:"us-east-1" env:"ONEFOLD_DYNAMODB_REGION"`
	AccessKey     []string      `help:"Access key that requests must be signed with. Repeat for more (default: any signature is accepted)." placeholder:"ID:SECRET" env:"ONEFOLD_DYNAMODB_ACCESS_KEY"`
	AccessKeyFile string        `help:"File of access keys, one ID:SECRET per line." type:"path" env:"ONEFOLD_DYNAMODB_ACCESS_KEY_FILE"`
	IndexDelay    time.Duration `help:"Delay before a write appears in global indexes, to find code that relies on immediate visibility (default: none)." env:"ONEFOLD_DYNAMODB_INDEX_DELAY"`
	StreamShards  int           `help:"Number of shards of a new stream, 1 to 256. A DynamoDB table has one per partition." default:"1" env:"ONEFOLD_DYNAMODB_STREAM_SHARDS"`
	RollShards    int           `help:"Number of records after which a stream shard closes and a child continues, which DynamoDB does every four hours (default: never)." placeholder:"N" env:"ONEFOLD_DYNAMODB_ROLL_SHARDS"`
	NoAuth        bool          `help:"Allow other machines to connect without access keys." env:"ONEFOLD_DYNAMODB_NO_AUTH"`
	Scrub         scrub.Flags   `embed:"" prefix:"scrub-"`
	Origin        []string      `help:"Web origin whose pages may connect without access keys, in addition to those on this machine." placeholder:"URL" env:"ONEFOLD_DYNAMODB_ORIGIN"`
}

// Help describes how to connect to the server. Kong prints it.
func (c *dynamodbServe) Help() string {
	return `Set AWS_ENDPOINT_URL_DYNAMODB and AWS_ENDPOINT_URL_DYNAMODB_STREAMS to connect an SDK; the AWS CLI takes --endpoint-url.
Both need credentials; without --access-key any are accepted. Prometheus metrics are at /metrics. With access keys, /metrics requires
one of them by HTTP basic authentication, which sends the secret: use it over TLS or on this machine only.`
}

// Validate checks the flags. Kong calls it.
func (c *dynamodbServe) Validate() error {
	if c.StreamShards < 1 || c.StreamShards > mostShards || c.RollShards < 0 {
		return fmt.Errorf("bad_shards: --stream-shards is %d, must be 1 to %d; --roll-shards is %d, must be 0 or more", c.StreamShards, mostShards, c.RollShards)
	}
	for _, origin := range c.Origin {
		if err := dynamohttp.CheckOrigin(origin); err != nil {
			return err
		}
	}
	return checkRegion(c.Region)
}

// mostShards is the engine's maximum number of shards of a stream.
const mostShards = 256

// checkPlace returns an error if both --memory and a directory are given, since only one of them
// can be meant.
func (c *dynamodbServe) checkPlace(line *kong.Context) error {
	for _, p := range line.Path {
		if c.Memory && p.Flag != nil && p.Flag.Name == "data" && !p.Resolved {
			return &exitError{exitUsage, errors.New("memory_or_data: --memory and --data cannot be combined; omit one of them")}
		}
	}
	return nil
}

// Run serves until it is interrupted.
func (c *dynamodbServe) Run(ctx context.Context, std streams, g *globals, line *kong.Context) error {
	if err := c.checkPlace(line); err != nil {
		return err
	}
	keys, err := protocol.Keys(c.AccessKey, c.AccessKeyFile)
	if err == nil {
		err = protocol.CheckAddress(c.Addr, len(keys) > 0 || c.NoAuth)
	}
	if err != nil {
		return &exitError{exitUsage, err}
	}
	runtime.GOMAXPROCS(goruntime.Processors())
	logger := g.logger(std.err)
	budget, err := (&memory.Flags{}).Budget(goruntime.OutsideHeap > 0) // not memory.Flags of the command line: --memory means an in-memory database here
	if err != nil {
		return err
	}
	defer budget.Limit()()
	db, err := c.open(g, std.err, &budget)
	if err != nil {
		return err
	}
	return errors.Join(c.serve(ctx, std.err, db, keys, logger, g.Data), db.Close())
}

func (c *dynamodbServe) open(g *globals, logs io.Writer, b *memory.Budget) (*engine.DB, error) {
	o := g.engine(logs)
	o.CacheBytes, o.MemTableBytes = b.Cache, b.MemTable
	o.Region, o.IndexDelay, o.StreamShards, o.RollEvery = c.Region, c.IndexDelay, c.StreamShards, c.RollShards
	if c.Memory {
		return engine.OpenMemory(o)
	}
	return storeurl.OpenEngine(g.Data, o, false)
}

// serve listens, prints the address, and serves until ctx ends.
func (c *dynamodbServe) serve(ctx context.Context, out io.Writer, db *engine.DB, keys map[string]string, logger *slog.Logger, data string) error {
	handler, err := protocol.Handler(db, protocol.Options{Region: c.Region, Keys: keys, Origins: c.Origin, ToAll: c.NoAuth, Logger: logger})
	if err != nil {
		return err
	}
	listener, err := listen.On("--addr", c.Addr)
	if err != nil {
		return err
	}
	if c.Memory {
		data = "in memory"
	}
	fmt.Fprint(out, c.greeting(listener.Addr().String(), data, len(keys) > 0))
	services := []service{func(ctx context.Context) error { return protocol.Serve(ctx, listener, handler, logger) }}
	if scrubs := c.Scrub.Schedule(db, data, logger); scrubs != nil && !c.Memory {
		services = append(services, (&supervise.Parts{Logger: logger}).Keep("scrub", scrubs.Run))
	}
	return workcli.Together(ctx, services)
}

// greeting returns the text that tells how to connect to the server.
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
