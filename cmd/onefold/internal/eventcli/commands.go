// Package eventcli implements the commands of the event store: they append, read, tail, check,
// import and archive events, in the table's directory or through a server.
package eventcli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/onefold/onefold/cmd/onefold/internal/cmdenv"
	"github.com/onefold/onefold/cmd/onefold/internal/masterkeys"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/shred"
	"github.com/onefold/onefold/table"
)

// Env is the environment of the commands.
type Env = cmdenv.Env

// Events are the commands of the event store.
type Events struct {
	Append     appendCommand     `cmd:"" help:"Append events to a stream, all or none."`
	Read       readCommand       `cmd:"" help:"Print the events of a stream."`
	Tail       tailCommand       `cmd:"" help:"Print events as they are appended through a server."`
	Head       headCommand       `cmd:"" help:"Print the version of a stream and whether it is open."`
	State      stateCommand      `cmd:"" help:"Print the state of an aggregate at any version, or the difference between two versions."`
	Types      typesCommand      `cmd:"" help:"List the types of aggregates."`
	Aggregates aggregatesCommand `cmd:"" help:"List the aggregates of a type."`
	Close      closeCommand      `cmd:"" help:"Close a stream permanently: it can still be read, but not appended to."`
	Fsck       fsckCommand       `cmd:"" help:"Check the event store for consistency, and repair it."`
	Erase      eraseCommand      `cmd:"" help:"Erase a person: delete the key of the person's data in events, forever."`
	MasterKey  masterKeyCommand  `cmd:"" help:"Print a new master key, which encrypts the keys of people. Keep it secret, and keep it: without it, their data is lost."`
	Rewrap     rewrapCommand     `cmd:"" help:"Encrypt the keys of all people with the first master key, so that the others are no longer needed."`
	Archive    archiveCommand    `cmd:"" help:"Archive events that the archive does not have yet, as JSON lines and Parquet."`
}

// parseID parses TYPE/ID.
func parseID(text string) (eventstore.ID, error) {
	kind, id, ok := strings.Cut(text, "/")
	if !ok || kind == "" || id == "" {
		return eventstore.ID{}, fmt.Errorf("invalid: %.60q is not an aggregate: write TYPE/ID, such as order/1001", text)
	}
	return eventstore.ID{Type: kind, ID: id}, nil
}

// opened runs work with the event store: that of a server, if one is given, otherwise that of the
// table.
func (f *Where) opened(ctx context.Context, env *Env, open func(context.Context, func(*cmdenv.Store) error) error, work func(target) error) error {
	if f.Server != "" {
		t, err := newRemote(f.Server, f.Key)
		if err != nil {
			return err
		}
		return work(t)
	}
	return open(ctx, func(s *cmdenv.Store) error {
		store, err := f.Store(ctx, s.Table, env.Logger)
		if err != nil {
			return err
		}
		return work(&local{store: store, ground: s})
	})
}

// Where selects the event store.
type Where struct {
	Server string `help:"URL of a running server, such as https://events.example.org, to use instead of opening the table." placeholder:"URL" env:"ONEFOLD_SERVER"`
	Key    string `help:"API key of events:main, for --server." env:"ONEFOLD_KEY"`
	masterkeys.Flags
}

// explain adds the API's error code, and advice, to an error of the event store.
func explain(id eventstore.ID, err error) error {
	conflict := (*eventstore.Conflict)(nil)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &conflict):
		return fmt.Errorf("version_conflict: %s has version %d, expected %s; `onefold events read %[1]s --from %d` shows the events in between", id, conflict.Actual, conflict.Expected, max(conflict.Actual-int64(len(conflict.Since)), 0)+1)
	case errors.Is(err, table.ErrNotFound):
		return fmt.Errorf("no_such_aggregate: there is no %s; `onefold events aggregates %s` lists all of its type", id, id.Type)
	}
	for code, is := range map[string]error{
		"invalid": eventstore.ErrInvalid, "too_large": eventstore.ErrTooLarge, "stream_closed": eventstore.ErrClosed, "commit_reused": eventstore.ErrCommitReused, "personal_fields": eventstore.ErrUnsealed,
		"reserved": eventstore.ErrReserved, "busy": eventstore.ErrBusy, "damaged": eventstore.ErrHole, "truncated": eventstore.ErrTruncated, "write_mode": eventstore.ErrWriteMode,
		"subject_erased": shred.ErrErased, "no_subject": shred.ErrNoSubject, "wrong_master_key": shred.ErrMaster, "unreadable": shred.ErrUnreadable,
	} {
		if errors.Is(err, is) {
			return fmt.Errorf("%s: %w", code, err)
		}
	}
	return err
}
