package backupcli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"filippo.io/age"

	"github.com/onefold/onefold/cmd/onefold/internal/backups"
	"github.com/onefold/onefold/engine"
)

// Output is the destination of create.
type Output struct {
	Stream bool // a file or standard output; otherwise a directory or bucket, in which backups are named by time

	name       string
	sealed     bool // compressed
	recipients []age.Recipient
}

// errOutput describes the valid outputs.
var errOutput = errors.New("bad_output: give a file whose name ends in .tar, .tar.zst or .tar.zst.age, a directory that exists or ends in /, s3://BUCKET/PREFIX, or - for standard output")

// Output parses the name of an output. Errors begin with bad_output or bad_recipient.
func (k *Keys) Output(name string) (*Output, error) {
	recipients, err := k.Recipients()
	if err != nil {
		return nil, err
	}
	o := &Output{name: name, recipients: recipients, sealed: len(recipients) > 0}
	info, err := os.Stat(name)
	switch {
	case name == "-":
		o.Stream = true
	case backups.IsBucket(name), strings.HasSuffix(name, "/"), err == nil && info.IsDir():
	case strings.HasSuffix(name, ".tar"), strings.HasSuffix(name, ".tar.zst"):
		o.Stream, o.sealed = true, strings.HasSuffix(name, ".zst")
		if len(recipients) > 0 {
			return nil, fmt.Errorf("bad_output: with recipients the backup is encrypted: give a file whose name ends in .tar.zst.age, not %s", name)
		}
	case strings.HasSuffix(name, ".tar.zst.age"):
		o.Stream = true
		if len(recipients) == 0 {
			return nil, fmt.Errorf("bad_output: %s requires encryption: give --recipient or --recipients-file", name)
		}
	default:
		return nil, errOutput
	}
	return o, nil
}

// Seal passes a writer to write that compresses and encrypts to w, as the output requires.
func (o *Output) Seal(w io.Writer, write func(io.Writer) error) error {
	if !o.sealed {
		return write(w)
	}
	return backups.Sealed(w, o.recipients, write)
}

// Make writes a backup into the output's directory or bucket, and returns its name there. table is
// DynamoDB's TableId. data is the directory of the table. If the backup goes to the same disk, it
// leaves reserve bytes free.
func (o *Output) Make(ctx context.Context, table, data string, reserve int64, write func(io.Writer) error) (string, error) {
	p, err := backups.OpenFor(ctx, data, o.name)
	if err == nil {
		err = p.Prepare(ctx)
	}
	if err != nil {
		return "", err
	}
	m := &backups.Maker{
		Place: p, Table: backups.TableID(table), Recipients: o.recipients,
		Room:  backups.Room{Shared: backups.SameDisk(data, o.name), Space: func() engine.DiskSpace { return engine.DiskSpaceAt(existing(data), reserve) }},
		Write: func(_ context.Context, w io.Writer) error { return write(w) },
	}
	f, err := m.Make(ctx, time.Now(), 0)
	return f.Name.String(), err
}
