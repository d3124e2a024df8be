package backupcli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold/internal/backups"
	"github.com/onefold/onefold/cmd/onefold/internal/wholebackup"
	"github.com/onefold/onefold/engine"
)

// source selects the backup to read.
type source struct {
	From     string `arg:"" help:"Backup source: a directory or s3://BUCKET/PREFIX?region=REGION with backups, a file (.tar, .tar.zst, .tar.zst.age), or - for standard input."`
	At       string `help:"Backup in a directory or bucket: its name, or the beginning of its UTC time, such as 20260512T10 (default: the newest)." placeholder:"NAME"`
	Identity string `help:"File of age private keys, as age-keygen writes it, to decrypt the backup." placeholder:"FILE" env:"ONEFOLD_BACKUP_IDENTITY"`
	Quiet    bool   `short:"q" help:"Hide the progress bar."`
}

// backup is an open backup.
type backup struct {
	io.ReadCloser
	name string
	size int64 // -1: unknown
}

// restored is the result of a restore.
type restored struct {
	*engine.BackupManifest
	name  string
	size  int64 // size of the backup; -1: unknown
	files int   // number of companion files
}

// restore creates a database in dir from the backup. For errors see wholebackup.Explain and package
// backups.
func (c *source) restore(ctx context.Context, env *Env, dir string) (r restored, err error) {
	identities, err := backups.Identities(c.Identity)
	if err != nil {
		return r, err
	}
	b, err := c.open(ctx, env)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	bar := terminal.NewSteps(env.Err, c.Quiet, "restore")
	defer bar.Close()
	in, err := backups.Unseal(&counted{r: b, size: b.size, tell: bar.Update}, identities)
	if err != nil {
		return r, wholebackup.Explain(err, b.name, dir)
	}
	defer in.Close()
	// The size of the restored table is unknown, so the disk is checked while it is written.
	in.Spare(backups.Room{Shared: true, Space: func() engine.DiskSpace {
		return engine.DiskSpaceAt(existing(dir), env.Engine.DiskReserve)
	}})
	r = restored{name: b.name, size: b.size}
	plain, err := wholebackup.Plain(in, b.name, "onefold backup restore - --data DIR")
	if err == nil {
		r.BackupManifest, r.files, err = wholebackup.Restore(ctx, plain, dir, nil)
	}
	if err == nil {
		_, err = io.Copy(io.Discard, plain) // read to the end: only there is an encrypted or compressed stream known to be complete
	}
	switch {
	case err == nil:
		return r, nil
	case in.Err() != nil:
		return r, in.Err()
	}
	return r, wholebackup.Explain(err, b.name, dir)
}

// existing returns dir, or its closest parent that exists.
func existing(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || filepath.Dir(dir) == dir {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// counted is a reader that reports the number of bytes read.
type counted struct {
	r          io.Reader
	done, size int64
	tell       func(done, size int64)
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.done += int64(n)
	c.tell(c.done, c.size)
	return n, err
}

// open opens the backup.
func (c *source) open(ctx context.Context, env *Env) (*backup, error) {
	if c.From == "-" {
		return &backup{io.NopCloser(env.In), "standard input", -1}, nil
	}
	from, at := c.From, c.At
	if backups.IsBucket(from) {
		from, at = named(from, at)
	} else {
		info, err := os.Stat(from)
		if err != nil {
			return nil, fmt.Errorf("no_such_file: %w", err)
		}
		if !info.IsDir() {
			f, err := os.Open(from)
			return &backup{f, from, info.Size()}, err
		}
		if _, err := os.Stat(filepath.Join(from, engine.BackupManifestName)); !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("is_directory: %s is a directory backup; restore it with onefold dynamodb restore", from)
		}
	}
	p, err := backups.OpenPlace(ctx, from)
	if err != nil {
		return nil, err
	}
	n, err := choose(ctx, p, at)
	if err != nil {
		return nil, err
	}
	r, size, err := p.Open(ctx, n)
	return &backup{r, n.String(), size}, err
}

// named splits the URL of a backup into its place and its name.
func named(from, at string) (place, name string) {
	u, err := url.Parse(from)
	if err != nil {
		return from, at // OpenPlace rejects it
	}
	base := path.Base(u.Path)
	if _, ok := backups.ParseName(base); !ok {
		return from, at
	}
	u.Path = path.Dir(u.Path)
	return u.String(), base
}

// choose returns the newest backup whose name is at, or whose time begins with at. Errors:
// backups.ErrNone, and several_tables if the choice is ambiguous.
func choose(ctx context.Context, p backups.Place, at string) (backups.Name, error) {
	files, err := p.List(ctx)
	if err != nil {
		return backups.Name{}, err
	}
	files = slices.DeleteFunc(files, func(f backups.File) bool {
		name := f.Name.String()
		return name != at && !strings.HasPrefix(strings.TrimPrefix(name, "onefold-"), at)
	})
	if len(files) == 0 && at != "" {
		return backups.Name{}, fmt.Errorf("%w: there is no backup %s in %s; onefold backup list lists all backups", backups.ErrNone, at, p)
	}
	if len(files) == 0 {
		return backups.Name{}, fmt.Errorf("%w: there is no backup in %s", backups.ErrNone, p)
	}
	newest := files[len(files)-1].Name
	for _, f := range files {
		if f.Table != newest.Table {
			return backups.Name{}, fmt.Errorf("several_tables: %s has backups of the tables %s and %s: choose one by name with --at; onefold backup list lists all backups", p, f.Table, newest.Table)
		}
	}
	return newest, nil
}
