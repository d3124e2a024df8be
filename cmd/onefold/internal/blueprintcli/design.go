// Package blueprintcli implements the commands that derive documents from a schema: designs, costs,
// findings, and definitions for AWS.
package blueprintcli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/blueprint"
	"github.com/onefold/onefold/blueprint/cost"
	"github.com/onefold/onefold/blueprint/page"
	"github.com/onefold/onefold/blueprint/workbench"
	"github.com/onefold/onefold/cmd/internal/storeurl"
	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/table"
)

// Env is the environment of the commands.
type Env struct {
	Out, Err io.Writer
	JSON     bool
	Place    func() (storeurl.Location, error) // location of the table
	Usage    string                            // file of metered usage
	Schemas  []*table.Schema                   // available schemas by name; the first is the default
	Examples []*table.Schema                   // available as examples/NAME
	Flows    []blueprint.Flow                  // readers of the change stream
}

// ErrStale is returned if an existing document differs from what would be written now.
var ErrStale = errors.New("stale_document")

// Design are the design commands.
type Design struct {
	Write Write `cmd:"" default:"withargs" help:"Write the design of a schema. (default)"`
	Diff  Diff  `cmd:"" help:"Classify what a new version of a design requires of a table with data: nothing, a backfill, an index, or new keys."`
}

// Write writes the design of a schema.
type Write struct {
	Schema string `help:"Schema: onefold (everything in a table), ${designs}, examples/ledger, examples/orders or examples/social." default:"onefold"`
	Format string `help:"Output format: markdown; html (one self-contained page); json; workbench (a NoSQL Workbench model); samples (example rows as DynamoDB JSON); or datamodel (for the AWS design tools)." enum:"markdown,html,json,workbench,samples,datamodel" default:"markdown"`
	Out    string `help:"Output file (default: standard output)." short:"o" type:"path"`
	Check  string `help:"File to compare with the output. Nothing is written; differences are an error. Line numbers of code are ignored." type:"existingfile"`
	Rows   int    `help:"Number of example rows per entity, 1 to 5." default:"2"`
}

// formats are the writers by format.
var formats = map[string]func(io.Writer, *blueprint.Design) error{
	"markdown":  func(w io.Writer, d *blueprint.Design) error { return d.Markdown(w) },
	"html":      page.Write,
	"json":      func(w io.Writer, d *blueprint.Design) error { return terminal.JSON(w, d) },
	"workbench": workbench.Write,
	"samples":   workbench.Samples,
	"datamodel": workbench.DataModel,
}

// Run writes the design. It runs the access patterns on an engine in memory to measure them.
func (c *Write) Run(ctx context.Context, e *Env) error {
	s, err := e.schema(c.Schema)
	if err != nil {
		return err
	}
	d, err := e.design(ctx, s, c.Rows)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if e.JSON {
		c.Format = "json"
	}
	err = formats[c.Format](&b, d)
	switch {
	case err != nil:
		return err
	case c.Check != "":
		return c.check(b.Bytes())
	case c.Out != "":
		return writeFile(c.Out, b.Bytes())
	}
	_, err = e.Out.Write(b.Bytes())
	return err
}

func (e *Env) schema(name string) (*table.Schema, error) {
	var names []string
	for i, s := range slices.Concat(e.Schemas, e.Examples) {
		called := s.Name()
		if i >= len(e.Schemas) {
			called = "examples/" + called
		}
		if called == name {
			return s, nil
		}
		names = append(names, called)
	}
	return nil, fmt.Errorf("no_such_schema: there is no schema %q; there are %s", terminal.Printable(name), strings.Join(names, ", "))
}

func (e *Env) design(ctx context.Context, s *table.Schema, rows int) (d *blueprint.Design, err error) {
	prices, err := designPrices()
	if err != nil {
		return nil, err
	}
	db, err := engine.OpenMemory(engine.Options{Clock: func() time.Time { return blueprint.Epoch }})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return blueprint.New(ctx, s, blueprint.Options{Store: db, Rows: rows, Flows: e.Flows, Prices: prices})
}

// designPrices returns the prices used in designs.
func designPrices() (*blueprint.Prices, error) {
	const region = "us-east-1"
	book, err := cost.PriceBook()
	if err != nil {
		return nil, err
	}
	p, err := book.Region(region)
	if err != nil {
		return nil, err
	}
	return &blueprint.Prices{Read: p.ReadMillion, Write: p.WriteMillion, Of: region + " by the price book of " + book.Date}, nil
}

// codeLine matches the line number of a code location, which changes with unrelated edits.
var codeLine = regexp.MustCompile(`(\.go):[0-9]+`)

func (c *Write) check(want []byte) error {
	got, err := os.ReadFile(c.Check)
	if err != nil {
		return err
	}
	lineless := func(b []byte) []byte { return codeLine.ReplaceAll(b, []byte("$1")) }
	if bytes.Equal(lineless(got), lineless(want)) {
		return nil
	}
	return fmt.Errorf("%w: %s does not match the schema: write it again with `onefold design --schema %s --format %s --out %s`",
		ErrStale, c.Check, c.Schema, c.Format, filepath.ToSlash(c.Check))
}

// writeFile replaces a file atomically.
func writeFile(name string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
