package blueprint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/table"
)

// Options say how a design is made. The zero value has good defaults.
type Options struct {
	// Store is a DynamoDB on which the patterns are executed, with its clock at Now; nil: they are not, and the design says
	// so. The table is made there, and must not be there before.
	Store dynamo.API
	// Now is the time in which the example rows live; default Epoch.
	Now time.Time
	// Rows is how many example rows an entity has, 1 to 5; default 2.
	Rows int
	// TableName is that of the requests; default the schema's name.
	TableName string
	// Prices say what the declared loads cost; nil: the design says nothing of it.
	Prices *Prices
	// Flows are what reads the table's change stream; those that read nothing of the schema are left out.
	Flows []Flow
}

// Prices are those of request units on demand, in dollars a million.
type Prices struct {
	Read  float64 `json:"read"`
	Write float64 `json:"write"`
	Of    string  `json:"of"` // where and when, such as "us-east-1, of 2026-11-20"
}

// Flow is what reads changes of entities, and derives another of them.
type Flow struct {
	Name string   `json:"name"`
	From []string `json:"from"`
	Into string   `json:"into,omitempty"` // "": it only watches, and acts
}

// Epoch is the time in which example rows live unless Options say otherwise: documents have the same bytes every day.
var Epoch = time.Date(2026, 5, 12, 14, 0, 0, 0, time.UTC)

const maxRows = 5

// ErrOptions is returned for options that are out of range.
var ErrOptions = errors.New("blueprint: options")

// Design is a table: what it stores, what it is asked, and what came of asking that of example rows.
type Design struct {
	Name      string    `json:"name"`
	TableName string    `json:"tableName"`
	Indexes   []string  `json:"indexes"`
	Entities  []Entity  `json:"entities"`
	Patterns  []Pattern `json:"patterns"`
	Executed  bool      `json:"executed"` // the patterns, while this was made
	Tiers     []Tiers   `json:"tiers,omitempty"`
	Flows     []Flow    `json:"flows,omitempty"`
	Prices    *Prices   `json:"prices,omitempty"`

	Gaps      []table.Gap      `json:"gaps,omitempty"`
	Decisions []table.Decision `json:"decisions,omitempty"`
}

// Tiers are levels of data that are rolled up one into the next, from fine to coarse.
type Tiers struct {
	Name  string `json:"name"`
	Tiers []Tier `json:"tiers"`
}

// Tier is one level of them.
type Tier struct {
	Name   string        `json:"name"`
	Bucket time.Duration `json:"bucket"` // that one item covers, nanoseconds; 0: facts
	Keep   time.Duration `json:"keep"`   // for which it is kept, nanoseconds; 0: for ever
}

// Entity is a kind of item.
type Entity struct {
	table.EntityInfo
	Rows []Row `json:"rows"` // examples, written by the encoder that writes real ones
}

// Row is an example item.
type Row struct {
	Entity string     `json:"entity"`
	Item   table.Item `json:"-"`
	Bytes  int        `json:"bytes"`

	example *table.ExampleRow
}

// Pattern is what is asked.
type Pattern struct {
	table.PatternInfo
	Callers   []string   `json:"callers,omitempty"`
	Execution *Execution `json:"execution,omitempty"` // nil: it was not executed
	Units     Units      `json:"units"`               // of one call at the declared load
	Heat      Heat       `json:"heat"`                // at the declared load
	Monthly   float64    `json:"monthly,omitempty"`   // what the declared load costs in a month of 730 hours, in dollars
}

// New makes the design of a schema. Errors: ErrOptions; an entities whose examples cannot be stored, and patterns that
// cannot be executed or find nothing: a document that is wrong must not be written.
func New(ctx context.Context, s *table.Schema, o Options) (*Design, error) {
	if o.Rows == 0 {
		o.Rows = 2
	}
	if o.Rows < 1 || o.Rows > maxRows {
		return nil, fmt.Errorf("%w: Rows is %d: 1 to %d", ErrOptions, o.Rows, maxRows)
	}
	if o.Now.IsZero() {
		o.Now = Epoch
	}
	if o.TableName == "" {
		o.TableName = s.Name()
	}
	d := &Design{Name: s.Name(), TableName: o.TableName, Indexes: s.Indexes(), Executed: o.Store != nil, Prices: o.Prices}
	if err := d.addEntities(s, &o); err != nil {
		return nil, err
	}
	if err := d.addPatterns(ctx, s, &o); err != nil {
		return nil, err
	}
	d.addRemarks(s.Remarks())
	for _, order := range s.Orders() {
		tiers := Tiers{Name: order.Name}
		for _, t := range order.Tiers.Tiers {
			tiers.Tiers = append(tiers.Tiers, Tier{t.Name, t.Bucket, t.Keep})
		}
		d.Tiers = append(d.Tiers, tiers)
	}
	for _, f := range o.Flows {
		f.From = slices.DeleteFunc(slices.Clone(f.From), func(name string) bool { return d.entity(name) == nil })
		if len(f.From) > 0 {
			d.Flows = append(d.Flows, f)
		}
	}
	return d, nil
}

// addRemarks adds what was declared beside the entities and patterns.
func (d *Design) addRemarks(r table.Remarks) {
	d.Gaps, d.Decisions = r.Gaps, r.Decisions
	for _, c := range r.Callers {
		for i := range d.Patterns {
			if p := &d.Patterns[i]; slices.Contains(c.Patterns, p.ID) {
				p.Callers = append(p.Callers, c.Name)
			}
		}
	}
}

// SingleTableDesign is the design of a schema as it is drawn, with example rows, not executed: New executes it.
func SingleTableDesign(s *table.Schema) (*Design, error) {
	return New(context.Background(), s, Options{})
}

// AccessPatternMatrix is what is asked of a schema's table, with units and the hottest keys at the declared loads.
func AccessPatternMatrix(s *table.Schema) ([]Pattern, error) {
	d, err := SingleTableDesign(s)
	if err != nil {
		return nil, err
	}
	return d.Patterns, nil
}

// Document is the design of a schema as Markdown, not executed.
func Document(s *table.Schema) (string, error) {
	d, err := SingleTableDesign(s)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = d.Markdown(&b)
	return b.String(), err
}

func (d *Design) addEntities(s *table.Schema, o *Options) error {
	var problems []error
	for _, info := range s.Entities() {
		e := Entity{EntityInfo: info}
		for n := range o.Rows {
			row, err := newRow(s, &info, o.Now, n)
			if err != nil {
				problems = append(problems, fmt.Errorf("blueprint: example %d of %s: %w", n+1, info.Name, err))
				break
			}
			same := func(r Row) bool { return sameKey(r.Item, row.Item) }
			if !slices.ContainsFunc(e.Rows, same) { // of some there is only one
				e.Rows = append(e.Rows, row)
			}
		}
		d.Entities = append(d.Entities, e)
	}
	return errors.Join(problems...)
}

func (d *Design) addPatterns(ctx context.Context, s *table.Schema, o *Options) error {
	var run *run
	if o.Store != nil {
		var err error
		if run, err = d.prepare(ctx, s, o); err != nil {
			return err
		}
	}
	for _, info := range s.Patterns() {
		d.Patterns = append(d.Patterns, Pattern{PatternInfo: info})
	}
	var problems []error
	for _, writing := range []bool{false, true} { // what is written is not there when the others ask
		for i := range d.Patterns {
			p := &d.Patterns[i]
			if run == nil || writing == (p.Operation == "Query" || p.Operation == "GetItem") {
				continue
			}
			var err error
			if p.Execution, err = run.execute(ctx, &p.PatternInfo, d.entity(p.Entity)); err != nil {
				problems = append(problems, fmt.Errorf("blueprint: pattern %s: %w", p.ID, err))
			}
		}
	}
	for i := range d.Patterns {
		p := &d.Patterns[i]
		p.Units = d.units(p)
		p.Heat = d.heat(p)
		if d.Prices != nil {
			p.Monthly = (p.Units.Read*d.Prices.Read + p.Units.Write*d.Prices.Write) / 1e6 * p.Load.PerSecond * 730 * 3600
		}
	}
	return errors.Join(problems...)
}

func (d *Design) entity(name string) *Entity {
	for i := range d.Entities {
		if d.Entities[i].Name == name {
			return &d.Entities[i]
		}
	}
	return nil
}

// Partition is what stands under one partition key, in the order of the sort keys.
type Partition struct {
	Key  string
	Rows []Row
}

// Partitions are the example rows as the table holds them, or an index; "" is the table.
func (d *Design) Partitions(index string) []Partition {
	pk, sk := table.AttrPK, table.AttrSK
	if index != "" {
		pk, sk = index+"pk", index+"sk"
	}
	by := map[string]*Partition{}
	var all []*Partition
	for _, e := range d.Entities {
		for _, r := range e.Rows {
			key := textOf(r.Item, pk)
			if key == "" {
				continue
			}
			if by[key] == nil {
				by[key] = &Partition{Key: key}
				all = append(all, by[key])
			}
			by[key].Rows = append(by[key].Rows, r)
		}
	}
	sorted := make([]Partition, len(all))
	for i, p := range all {
		slices.SortStableFunc(p.Rows, func(a, b Row) int { return compareText(textOf(a.Item, sk), textOf(b.Item, sk)) })
		sorted[i] = *p
	}
	slices.SortStableFunc(sorted, func(a, b Partition) int { return compareText(a.Key, b.Key) })
	return sorted
}
