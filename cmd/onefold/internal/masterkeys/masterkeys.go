// Package masterkeys has the flags for the master keys of the event store, which encrypt the keys of
// people.
package masterkeys

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/shred"
	"github.com/onefold/onefold/table"
)

// Flags select the master keys.
type Flags struct {
	MasterKey     []string `help:"Master key of the event store, ID:KEY as onefold events master-key prints it, which encrypts the keys of people. Repeat for keys from before a change; the first encrypts (default: none, and personal fields are rejected)." placeholder:"ID:KEY" env:"ONEFOLD_MASTER_KEY"`
	MasterKeyFile string   `help:"File of master keys of the event store, one ID:KEY per line. The first encrypts." type:"path" placeholder:"FILE" env:"ONEFOLD_MASTER_KEY_FILE"`
}

// maxFile is the maximum size of a key file in bytes.
const maxFile = 64 << 10

// masters returns the keys; nil for none. Errors begin with bad_master_key, and do not contain keys.
func (f *Flags) masters() ([]shred.Master, error) {
	text := strings.Join(f.MasterKey, "\n")
	switch {
	case f.MasterKeyFile == "" && text == "":
		return nil, nil
	case f.MasterKeyFile != "" && text != "":
		return nil, errors.New("bad_master_key: --master-key and --master-key-file are both set: omit one of them")
	case f.MasterKeyFile != "":
		read, err := os.ReadFile(f.MasterKeyFile)
		if err == nil && len(read) > maxFile {
			err = fmt.Errorf("it has more than %d bytes", maxFile)
		}
		if err != nil {
			return nil, fmt.Errorf("bad_master_key: --master-key-file: %w", err)
		}
		text = string(read)
	}
	all, err := shred.ParseMasters(text)
	if err != nil {
		return nil, fmt.Errorf("bad_master_key: %w", err)
	}
	return all, nil
}

// KeyStore returns the key store of a table, or nil without a key. It verifies the keys if the table
// can be reached, and otherwise logs a warning: the first use verifies them. Errors begin with
// bad_master_key or wrong_master_key.
func (f *Flags) KeyStore(ctx context.Context, t *table.Table, logger *slog.Logger) (*shred.KeyStore, error) {
	all, err := f.masters()
	if err != nil || all == nil {
		return nil, err
	}
	keys, err := shred.New(t, shred.Options{Masters: all})
	if err != nil {
		return nil, fmt.Errorf("bad_master_key: %w", err)
	}
	err = keys.Verify(ctx)
	switch {
	case errors.Is(err, shred.ErrMaster):
		return nil, fmt.Errorf("wrong_master_key: %w; configure the key that the table is used with, and new keys beside it until onefold events rewrap has ended", err)
	case err != nil && ctx.Err() == nil:
		logger.WarnContext(ctx, "the master keys could not be verified yet", "error", err)
	case err != nil:
		return nil, err
	}
	return keys, nil
}

// Store opens the event store of a table, with the keys if there are any. Errors: those of KeyStore.
func (f *Flags) Store(ctx context.Context, t *table.Table, logger *slog.Logger) (*eventstore.Store, error) {
	keys, err := f.KeyStore(ctx, t, logger)
	if err != nil {
		return nil, err
	}
	o := eventstore.Options{}
	if keys != nil {
		o.Secrets = keys.Secrets()
	}
	return eventstore.New(t, o)
}
