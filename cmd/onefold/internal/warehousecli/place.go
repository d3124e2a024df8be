// Package warehousecli implements the commands that export raw facts to a warehouse and manage it.
package warehousecli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/onefold/onefold/cmd/internal/s3store"
	"github.com/onefold/onefold/cmd/onefold/internal/cmdenv"
	"github.com/onefold/onefold/warehouse"
)

// Commands are the warehouse commands.
type Commands struct {
	Export  exportCommand  `cmd:"" help:"Export raw facts to the warehouse, each once: first everything in the table, then the change stream."`
	Status  statusCommand  `cmd:"" help:"Show the warehouse's contents and progress. Needs no table."`
	Compact compactCommand `cmd:"" help:"Merge small files. Needs no table."`
	Check   checkCommand   `cmd:"" help:"Export missing facts, then compare the warehouse with the table, fact by fact."`
	DDL     ddlCommand     `cmd:"" name:"ddl" help:"Write table definitions for Athena or Glue to read the warehouse."`
}

// Forms describes valid warehouse locations for messages and help texts.
const Forms = "a directory, or " + s3store.Forms

// Where selects the warehouse.
type Where struct {
	To string `help:"Warehouse: a directory or s3://BUCKET/PREFIX?region=REGION&profile=PROFILE&endpoint=http://HOST:PORT (default: the directory of --data with .warehouse appended)." env:"ONEFOLD_WAREHOUSE" placeholder:"PLACE"`
}

// Place returns the location of a table's warehouse: said, or by default next to the table's
// directory.
func Place(said, data string) string {
	if said != "" {
		return said
	}
	return strings.TrimSuffix(data, string(os.PathSeparator)) + ".warehouse"
}

// Open opens a warehouse, and creates its directory unless existing is set. Errors begin with
// bad_warehouse, no_warehouse, no_bucket or no_access, or are those of package warehouse.
func Open(ctx context.Context, place string, existing bool) (*warehouse.Warehouse, error) {
	objects, err := Objects(ctx, place, existing)
	if err != nil {
		return nil, err
	}
	w, err := warehouse.Open(ctx, objects, warehouse.Options{})
	if err != nil {
		return nil, err
	}
	if existing && w.Version() == 0 {
		return nil, fmt.Errorf("no_warehouse: there is no warehouse at %s; create one with `onefold warehouse export --to PLACE`", place)
	}
	return w, nil
}

// Objects opens the storage of a warehouse. Errors are those of Open, without those of reading the
// log.
func Objects(ctx context.Context, place string, existing bool) (warehouse.Objects, error) {
	if isBucket(place) {
		b, err := s3store.Open(ctx, "warehouse", place)
		if err != nil {
			return nil, err
		}
		return b, b.Reachable(ctx)
	}
	entries, err := os.ReadDir(place)
	switch {
	case err != nil && !os.IsNotExist(err):
		return nil, fmt.Errorf("bad_warehouse: %w", err)
	case existing && len(entries) == 0:
		return nil, fmt.Errorf("no_warehouse: there is no warehouse in %s; create one with `onefold warehouse export --to PLACE`", place)
	}
	for _, e := range entries {
		if name := e.Name(); name != "_log" && name != "_tmp" && !isDataset(name) {
			return nil, fmt.Errorf("bad_warehouse: %s holds other files, such as %s; choose an empty directory or an existing warehouse", place, filepath.Base(name))
		}
	}
	return warehouse.OpenDir(place)
}

func isBucket(place string) bool { return strings.Contains(place, "://") }

func isDataset(name string) bool {
	for _, d := range warehouse.Datasets() {
		if string(d) == name {
			return true
		}
	}
	return false
}

func (w *Where) open(ctx context.Context, env *cmdenv.Env, existing bool) (*warehouse.Warehouse, error) {
	return Open(ctx, Place(w.To, env.Data), existing)
}
