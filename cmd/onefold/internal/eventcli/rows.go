package eventcli

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/onefold/onefold/cmd/internal/logimport"
	"github.com/onefold/onefold/cmd/onefold/internal/readingfiles"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/eventjson"
	"github.com/onefold/onefold/internal/accesslog"
	"github.com/onefold/onefold/internal/eventcsv"
)

// row is an event of a file, or the error in its row.
type row struct {
	number int64 // number of the row's first line
	text   string
	id     eventstore.ID
	commit string // commit ID derived from the row
	event  eventjson.New
	err    error
}

// rowReader converts rows of a CSV file to events.
type rowReader struct {
	*readingfiles.Header
	aggregateType string
	clock         *readingfiles.Clock
	aggregate     int // column indexes; -1: none
	kind          int
	time          int
	actor         int
	data          []int
	seen          *logimport.Occurrences
}

// rows reads the events of an open file. If the iterator yields an error, it is the last element:
// the file cannot be read further.
func (c *Import) rows(f *accesslog.File) (iter.Seq2[row, error], error) {
	beginning, err := f.Head()
	if err != nil {
		return nil, err
	}
	r := &rowReader{aggregateType: c.Aggregate, seen: logimport.NewOccurrences()}
	if r.Header, err = readingfiles.ReadHeader(beginning); err != nil {
		return nil, err
	}
	if r.clock, err = c.clock(); err != nil {
		return nil, err
	}
	if err := r.choose(c); err != nil {
		return nil, err
	}
	return func(yield func(row, error) bool) {
		begun := false
		for line, err := range eventcsv.Rows(accesslog.Lines(f)) {
			one := row{number: line.Number, text: string(line.Text), err: err}
			switch malformed := errors.Is(err, accesslog.ErrMalformed) || errors.Is(err, eventcsv.ErrMalformed); {
			case err != nil && !malformed:
				yield(one, err)
				return
			case !begun:
				begun = true
				continue
			case err == nil && len(bytes.TrimSpace(line.Text)) == 0:
				continue
			case err == nil:
				one.err = r.read(line.Text, &one)
			}
			if !yield(one, nil) {
				return
			}
		}
	}, nil
}

// choose finds the columns.
func (r *rowReader) choose(c *Import) (err error) {
	for _, find := range []struct {
		to      *int
		flag    string
		name    string
		without bool
	}{
		{&r.aggregate, "--aggregate-column", c.AggregateColumn, false}, {&r.kind, "--type-column", c.TypeColumn, false},
		{&r.time, "--time-column", c.TimeColumn, false}, {&r.actor, "--actor-column", c.ActorColumn, true},
	} {
		if *find.to = -1; find.name == "" && find.without {
			continue
		}
		if *find.to, err = r.Find(find.flag, find.name, nil, false); err != nil {
			return err
		}
	}
	for _, name := range c.Column {
		at, err := r.Find("--column", name, nil, false)
		if err != nil {
			return err
		}
		r.data = append(r.data, at)
	}
	for i, name := range r.Names {
		if c.Column == nil && name != "" && !slices.Contains([]int{r.aggregate, r.kind, r.time, r.actor}, i) {
			r.data = append(r.data, i)
		}
	}
	return nil
}

// read converts a row to an event. Two equal rows of a file are two events.
func (r *rowReader) read(text []byte, into *row) error {
	cells, err := r.Split(text)
	if err != nil {
		return err
	}
	if len(cells) != len(r.Names) {
		return fmt.Errorf("it has %d columns, but the header has %d", len(cells), len(r.Names))
	}
	into.id = eventstore.ID{Type: r.aggregateType, ID: strings.TrimSpace(cells[r.aggregate])}
	into.event.Type = strings.TrimSpace(cells[r.kind])
	switch {
	case into.id.ID == "":
		return fmt.Errorf("column %q, the aggregate, is empty", r.Names[r.aggregate])
	case into.event.Type == "":
		return fmt.Errorf("column %q, the event type, is empty", r.Names[r.kind])
	}
	if into.event.OccurredAt, err = r.clock.Read(cells[r.time]); err != nil {
		return err
	}
	if r.actor >= 0 {
		into.event.Actor = strings.TrimSpace(cells[r.actor])
	}
	fields := map[string]string{}
	for _, at := range r.data {
		if cells[at] != "" {
			fields[r.Names[at]] = cells[at]
		}
	}
	if into.event.Data, err = json.Marshal(fields); err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	into.commit = hex.EncodeToString(sum[:16]) + "-" + strconv.Itoa(r.seen.Next(text))
	return nil
}
