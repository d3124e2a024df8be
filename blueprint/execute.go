package blueprint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/table"
)

// Execution is the result of executing a pattern.
type Execution struct {
	Input any          `json:"input,omitempty"`
	Calls []Call       `json:"calls"`
	Items []table.Item `json:"-"` // items returned, as stored
	Read  float64      `json:"readUnits"`
	Write float64      `json:"writeUnits"`
}

// most is the maximum number of returned items to keep.
const most = 10

// run executes patterns on a table with the example rows.
type run struct {
	schema *table.Schema
	meter  *meter
	table  *table.Table
	now    time.Time
	known  known
}

// known are the texts of the example rows. IDs that are not among them were generated during
// execution, and would differ the next time.
type known []byte

var madeID = regexp.MustCompile(`\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b`)

func (k known) mask(request []byte) []byte {
	return madeID.ReplaceAllFunc(request, func(id []byte) []byte {
		if bytes.Contains(k, id) {
			return id
		}
		return []byte("a new ULID")
	})
}

// prepare creates the table and writes all rows to it.
func (d *Design) prepare(ctx context.Context, s *table.Schema, o *Options) (*run, error) {
	if err := s.Ensure(ctx, o.Store, o.TableName); err != nil {
		return nil, fmt.Errorf("blueprint: create the table: %w", err)
	}
	var texts known
	for _, e := range d.Entities {
		for _, r := range e.Rows {
			texts = append(texts, itemJSON(r.Item)...)
			if _, err := o.Store.PutItem(ctx, &dynamodb.PutItemInput{TableName: &o.TableName, Item: r.Item}); err != nil {
				return nil, fmt.Errorf("blueprint: store an example of %s: %w", e.Name, err)
			}
		}
	}
	m, clock := &meter{API: o.Store}, func() time.Time { return o.Now }
	return &run{schema: s, meter: m, table: table.New(m, o.TableName, table.Options{Clock: clock}), now: o.Now, known: texts}, nil
}

func (r *run) execute(ctx context.Context, info *table.PatternInfo, e *Entity) (*Execution, error) {
	rows := e.Rows
	if info.Operation == "PutItem" { // with an item that does not exist
		fresh, err := newRow(r.schema, &e.EntityInfo, r.now, maxRows)
		if err != nil {
			return nil, err
		}
		rows, r.known = []Row{fresh}, append(r.known, itemJSON(fresh.Item)...)
	}
	for _, row := range rows {
		x, err := r.use(ctx, info.ID, &row)
		if err != nil || len(x.Items) > 0 || x.Write > 0 {
			return x, err
		}
	}
	return nil, errors.New("it finds no example row of " + e.Name + ": set a matching Example in the entity or the pattern")
}

// use executes a pattern with an input that finds a row.
func (r *run) use(ctx context.Context, id string, row *Row) (*Execution, error) {
	use, err := r.schema.ExampleUse(id, row.example)
	if err != nil {
		return nil, err
	}
	r.meter.take()
	x := &Execution{Input: use.Input()}
	if x.Items, err = use.Run(ctx, r.table, most); err != nil {
		return nil, err
	}
	x.Calls = r.meter.take()
	for i := range x.Calls {
		x.Calls[i].Request = r.known.mask(x.Calls[i].Request)
	}
	for _, c := range x.Calls {
		x.Read, x.Write = x.Read+c.Read, x.Write+c.Write
	}
	return x, nil
}
