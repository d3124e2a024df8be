package backupcli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/onefold/onefold/cmd/onefold/internal/backups"
	"github.com/onefold/onefold/cmd/onefold/internal/wholebackup"
	"github.com/onefold/onefold/engine"
)

// Flags configure the scheduled backups of a server.
type Flags struct {
	To    string        `help:"Destination of scheduled backups of the table and its companion files: a directory or s3://BUCKET/PREFIX?region=REGION&profile=PROFILE&endpoint=http://HOST:PORT (default: no backups)." placeholder:"PLACE" env:"ONEFOLD_BACKUP_TO"`
	Every time.Duration `help:"Interval between backups, 1m to 366d." default:"24h" env:"ONEFOLD_BACKUP_EVERY"`
	Keep  int           `help:"Number of backups to keep, 1 to 1000. Older ones are deleted when a new one is complete." default:"7" env:"ONEFOLD_BACKUP_KEEP"`
	Keys  `embed:""`
}

// Limits of the flags.
const (
	leastEvery = time.Minute
	mostEvery  = 366 * 24 * time.Hour
	mostKeep   = 1000
)

// Validate checks the flags. Kong calls it.
func (f *Flags) Validate() error {
	if f.Every < leastEvery || f.Every > mostEvery {
		return errors.New("bad_backup_every: --backup-every must be 1m to 366d")
	}
	if f.Keep < 1 || f.Keep > mostKeep {
		return fmt.Errorf("bad_backup_keep: --backup-keep must be 1 to %d", mostKeep)
	}
	if f.To == "" && (len(f.Recipient) > 0 || f.RecipientsFile != "") {
		return errors.New("no_backup_to: --backup-recipient and --backup-recipients-file require --backup-to")
	}
	return nil
}

// Table is the table of a server.
type Table struct {
	Engine *engine.DB
	Data   string // directory of the table
	ID     string // DynamoDB's TableId
}

// Schedule returns the schedule of the table's backups, to be run alongside the server. Errors are
// those of Recipients and backups.OpenFor.
func (f *Flags) Schedule(ctx context.Context, t Table, logger *slog.Logger) (*backups.Schedule, error) {
	recipients, err := f.Recipients()
	if err != nil {
		return nil, err
	}
	p, err := backups.OpenFor(ctx, t.Data, f.To)
	if err != nil {
		return nil, err
	}
	return &backups.Schedule{
		Maker: backups.Maker{
			Place: p, Table: backups.TableID(t.ID), Recipients: recipients,
			Room: backups.Room{Space: t.Engine.DiskSpace, Shared: backups.SameDisk(t.Data, f.To)},
			Write: func(ctx context.Context, w io.Writer) error {
				return wholebackup.Write(ctx, w, t.Data, func(w io.Writer) error {
					_, err := t.Engine.BackupTo(ctx, w, nil)
					return err
				})
			},
		},
		Every: f.Every, Keep: f.Keep, Logger: logger,
	}, nil
}
