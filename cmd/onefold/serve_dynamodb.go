package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/onefold/onefold/cmd/onefold/internal/listen"
	"github.com/onefold/onefold/cmd/onefold/internal/protocol"
)

// protocolFlags let other programs, such as onefold move and onefold backup, access the table of a
// running server through DynamoDB's protocol.
type protocolFlags struct {
	Dynamodb              string   `help:"Address to serve the embedded table over DynamoDB's protocol too, such as 127.0.0.1:8000, for onefold move, onefold backup and any SDK (default: none)." placeholder:"ADDR" env:"ONEFOLD_SERVE_DYNAMODB"`
	DynamodbAccessKey     []string `help:"Access key that signs requests to that address. Repeat for more (default: a new one, printed)." placeholder:"ID:SECRET" env:"ONEFOLD_DYNAMODB_ACCESS_KEY"`
	DynamodbAccessKeyFile string   `help:"File of access keys, one ID:SECRET per line." type:"path" env:"ONEFOLD_DYNAMODB_ACCESS_KEY_FILE"`
}

// checkLoopback returns an error for an address that other machines can reach, because the
// connection is not encrypted.
func checkLoopback(addr string) error {
	if protocol.CheckAddress(addr, false) != nil {
		return fmt.Errorf("not_loopback: --dynamodb must be a loopback address such as 127.0.0.1:8000, not %q; connect from other machines through ssh -L", addr)
	}
	return nil
}

// protocolRegion is the Region in signatures. The table itself is in no Region.
const protocolRegion = "us-east-1"

// services returns the server of DynamoDB's protocol for the table of s, if enabled.
func (f *protocolFlags) services(s *store, logger *slog.Logger, out io.Writer) ([]service, error) {
	if f.Dynamodb == "" {
		return nil, nil
	}
	if s.Engine == nil {
		return nil, &exitError{exitUsage, errors.New("not_embedded: --dynamodb serves an embedded table only; this table is on a DynamoDB service already")}
	}
	keys, err := protocol.Keys(f.DynamodbAccessKey, f.DynamodbAccessKeyFile)
	if err == nil {
		err = checkLoopback(f.Dynamodb)
	}
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	printed := ""
	if len(keys) == 0 {
		id, secret := rand.Text()[:16], rand.Text()
		keys = map[string]string{id: secret}
		printed = fmt.Sprintf("  export AWS_ACCESS_KEY_ID=%s AWS_SECRET_ACCESS_KEY=%s\n", id, secret)
	}
	handler, err := protocol.Handler(s.Engine, protocol.Options{Region: protocolRegion, Keys: keys, Logger: logger})
	if err != nil {
		return nil, err
	}
	listener, err := listen.On("--dynamodb", f.Dynamodb)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(out, "the table is at dynamodb+http://%s/%s\n%s", listener.Addr(), s.Table, printed)
	return []service{func(ctx context.Context) error { return protocol.Serve(ctx, listener, handler, logger) }}, nil
}
