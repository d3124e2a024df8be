package eventcli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold/internal/cmdenv"
	"github.com/onefold/onefold/cmd/onefold/internal/masterkeys"
	"github.com/onefold/onefold/eventstore/shred"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/table"
)

type masterKeyCommand struct{}

// Run prints a new key.
func (c *masterKeyCommand) Run(env *Env) error {
	m, err := shred.NewMaster(time.Now())
	if err == nil {
		_, err = fmt.Fprintln(env.Out, m.Line())
	}
	return err
}

type rewrapCommand struct{ masterkeys.Flags }

// Run encrypts the keys of all people with the first master key.
func (c *rewrapCommand) Run(ctx context.Context, env *Env) error {
	return env.Open(ctx, func(s *cmdenv.Store) error {
		keys, err := requiredKeys(ctx, &c.Flags, env, s)
		if err != nil {
			return err
		}
		n, err := keys.Rewrap(ctx)
		if err != nil {
			return fmt.Errorf("%w\nRun the command again to resume", err)
		}
		if env.JSON {
			return terminal.JSON(env.Out, struct {
				Rewrapped int `json:"rewrapped"`
			}{n})
		}
		_, err = fmt.Fprintf(env.Out, "Encrypted %s again. The other master keys are no longer needed.\n", terminal.Count(n, "key"))
		return err
	})
}

// requiredKeys returns the key store of the flags.
func requiredKeys(ctx context.Context, f *masterkeys.Flags, env *Env, s *cmdenv.Store) (*shred.KeyStore, error) {
	keys, err := f.KeyStore(ctx, s.Table, env.Logger)
	if err == nil && keys == nil {
		err = errors.New("no_master_key: set --master-key-file")
	}
	return keys, err
}

type eraseCommand struct {
	Where
	Subject string `arg:"" help:"ID of the person, as in events."`
}

// erased is the JSON form of a receipt.
type erased struct {
	Subject    string    `json:"subject"`
	Erased     time.Time `json:"erasedAt"`
	Remade     time.Time `json:"remadeAt"`
	Remains    time.Time `json:"remainsUntil"`
	Finished   time.Time `json:"finishedAt,omitzero"`
	Aggregates int       `json:"aggregateCount"`
	Snapshots  int       `json:"snapshots"`
	Released   int       `json:"released"`
}

// Run erases a person and prints the receipt.
func (c *eraseCommand) Run(ctx context.Context, env *Env) error {
	receipt, err := c.erase(ctx, env)
	if err != nil {
		return err
	}
	if env.JSON {
		return terminal.JSON(env.Out, receipt)
	}
	return receipt.print(env.Out)
}

func (c *eraseCommand) erase(ctx context.Context, env *Env) (r erased, err error) {
	if c.Server != "" {
		t, err := newRemote(c.Server, c.Where.Key)
		if err == nil {
			r, err = t.erase(ctx, c.Subject)
		}
		return r, err
	}
	err = env.Open(ctx, func(s *cmdenv.Store) error {
		keys, err := requiredKeys(ctx, &c.Flags, env, s)
		if err != nil {
			return err
		}
		done, err := keys.Erase(ctx, c.Subject)
		if errors.Is(err, table.ErrNotFound) || errors.Is(err, table.ErrKeyValue) {
			return errors.New("no_such_subject: no event has personal data of this person")
		}
		if !done.Erased.IsZero() { // the key is deleted, whatever came after
			err = errors.Join(err, accounts.New(s.Table, accounts.Options{}).Record(ctx, accounts.Entry{Actor: byCommand, Action: "subject.erase", Site: accounts.EventStore, Subject: c.Subject}))
		}
		r = erased{done.Subject, done.Erased, done.Remade, done.Remains, done.Finished, len(done.Aggregates), done.Snapshots, done.Released}
		return err
	})
	return r, err
}

// byCommand is the actor in audit entries of commands.
const byCommand = "command"

func (r *erased) print(out io.Writer) error {
	_, err := fmt.Fprintf(out, "Erased at %s. The person is in %s; deleted %s, released %s.\n", r.Erased.Format(time.RFC3339),
		terminal.Count(r.Aggregates, "aggregate"), terminal.Count(r.Snapshots, "snapshot"), terminal.Count(r.Released, "value"))
	if err == nil && r.Finished.IsZero() {
		_, err = fmt.Fprintf(out, "The change stream has earlier states of read models until %s. Erase again after that to get a complete receipt.\n", r.Remains.Format(time.RFC3339))
	}
	return err
}
