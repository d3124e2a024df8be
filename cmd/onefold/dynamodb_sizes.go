package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/onefold/onefold/cmd/onefold/internal/protocol"
	"github.com/onefold/onefold/engine"
)

type dynamodbCompact struct {
	dynamodbTarget
}

// Run compacts the files of the database.
func (c *dynamodbCompact) Run(ctx context.Context, std streams, g *globals) error {
	var done protocol.Compacted
	var err error
	if c.Endpoint != "" {
		err = c.adminJSON(ctx, "compact", &done)
	} else if db, oerr := c.open(g, std.err); oerr != nil {
		err = oerr
	} else {
		done, err = protocol.Compact(ctx, db)
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		return err
	}
	if g.JSON {
		return printJSON(std.out, done)
	}
	_, err = fmt.Fprintf(std.out, "tables: %s bytes (before: %s); log: %s bytes (before: %s)\n",
		grouped(done.After.Tables), grouped(done.Before.Tables), grouped(done.After.Log), grouped(done.Before.Log))
	return err
}

// adminJSON requests a maintenance task from a running server and decodes its response.
func (t *dynamodbTarget) adminJSON(ctx context.Context, task string, into any) error {
	body, err := t.admin(ctx, task)
	if err != nil {
		return err
	}
	if err := errors.Join(json.NewDecoder(body).Decode(into), body.Close()); err != nil {
		return fmt.Errorf("%s_cut_off: %w; see the server's log", task, err)
	}
	return nil
}

type dynamodbSizes struct {
	dynamodbTarget
	Estimate bool `help:"Do not read all rows: use DescribeTable's estimates for items, and omit index entries and records."`
}

// Run prints the sizes of tables, indexes and streams.
func (c *dynamodbSizes) Run(ctx context.Context, std streams, g *globals) error {
	s, err := c.sizes(ctx, std, g)
	if err != nil {
		return err
	}
	if g.JSON {
		return printJSON(std.out, s)
	}
	w := tabwriter.NewWriter(std.out, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "\trows\tbytes\ton disk\t\n")
	line := func(what string, s engine.Size) {
		if s.Rows != 0 || s.Disk != 0 || s.Name != "" {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t\n", what, counted(s.Rows), counted(s.Bytes), counted(s.Disk))
		}
	}
	for _, t := range s.Tables {
		line(t.Name, t.Size)
		for _, x := range t.Indexes {
			line(t.Name+"/"+x.Name, x)
		}
		line(t.Name+" (expiry)", t.Expiry)
	}
	for _, stream := range s.Streams {
		line("stream "+stream.Name, stream)
	}
	line("tokens", s.Tokens)
	line("catalog", s.Catalog)
	return w.Flush()
}

// counted formats n, or a dash if n is negative, that is, not counted.
func counted(n int64) string {
	if n < 0 {
		return "–"
	}
	return grouped(n)
}

func (c *dynamodbSizes) sizes(ctx context.Context, std streams, g *globals) (*engine.Sizes, error) {
	if c.Endpoint != "" {
		task := "sizes"
		if c.Estimate {
			task = "estimate"
		}
		s := new(engine.Sizes)
		return s, c.adminJSON(ctx, task, s)
	}
	db, err := c.open(g, std.err)
	if err != nil {
		return nil, err
	}
	s, err := db.Sizes(ctx, !c.Estimate)
	return s, errors.Join(err, db.Close())
}
