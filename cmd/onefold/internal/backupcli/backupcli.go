// Package backupcli implements the commands that list, verify and restore backups, and the flags
// with which a server makes them.
package backupcli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"filippo.io/age"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold/internal/backups"
	"github.com/onefold/onefold/engine"
)

// Env is the environment of the commands.
type Env struct {
	In       io.Reader
	Out, Err io.Writer
	JSON     bool           // print JSON
	Data     string         // directory of --data
	Embedded func() error   // returns an error unless the table is in a directory
	Engine   engine.Options // options to open a restored database
}

// Commands are the commands for existing backups.
type Commands struct {
	List    listCommand    `cmd:"" help:"List the backups in a directory or bucket, oldest first."`
	Verify  verifyCommand  `cmd:"" help:"Verify a backup: restore it to a temporary directory, check every row, and print its contents."`
	Restore restoreCommand `cmd:"" help:"Restore a backup to the directory of --data, which must be empty or absent."`
}

// ErrWrong is returned by verify if there is no backup, or if the backup cannot be relied on.
var ErrWrong = errors.New("wrong")

// wrong is an error that matches ErrWrong.
type wrong struct{ error }

func (w wrong) Unwrap() []error { return []error{ErrWrong, w.error} }

// Keys are the flags for the recipients of encrypted backups.
type Keys struct {
	Recipient      []string `help:"age public key to encrypt for, such as age1…. Repeat for more (default: no encryption)." placeholder:"KEY" env:"ONEFOLD_BACKUP_RECIPIENT"`
	RecipientsFile string   `help:"File of age public keys, one per line." placeholder:"FILE" env:"ONEFOLD_BACKUP_RECIPIENTS_FILE"`
}

// Recipients returns the recipients of both flags. Errors begin with bad_recipient.
func (k *Keys) Recipients() ([]age.Recipient, error) {
	return backups.Recipients(k.Recipient, k.RecipientsFile)
}

type listCommand struct {
	From string `arg:"" help:"Backup location: a directory or s3://BUCKET/PREFIX?region=REGION&profile=PROFILE&endpoint=http://HOST:PORT."`
}

// listed is the JSON form of a backup in a list.
type listed struct {
	Name      string    `json:"name"`
	Time      time.Time `json:"time"`
	Table     string    `json:"table"`
	Encrypted bool      `json:"encrypted"`
	Bytes     int64     `json:"bytes"`
}

// Run lists the backups, oldest first.
func (c *listCommand) Run(ctx context.Context, env *Env) error {
	p, err := backups.OpenPlace(ctx, c.From)
	if err != nil {
		return err
	}
	files, err := p.List(ctx)
	if err != nil {
		return err
	}
	if env.JSON {
		all := []listed{}
		for _, f := range files {
			all = append(all, listed{f.Name.String(), f.Time, f.Table, f.Encrypted, f.Bytes})
		}
		return terminal.JSON(env.Out, all)
	}
	if len(files) == 0 {
		_, err := fmt.Fprintf(env.Err, "There is no backup in %s.\n", p)
		return err
	}
	for _, f := range files {
		if _, err := fmt.Fprintf(env.Out, "%s  %s bytes\n", f.Name, terminal.Grouped(f.Bytes)); err != nil {
			return err
		}
	}
	return nil
}
