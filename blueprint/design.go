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

// Options configure a design. The zero value has good defaults.
type Options struct {
	// Store is a DynamoDB on which to execute the patterns, with its clock at Now. The table is
	// created there and must not exist. If nil, the patterns are not executed, which the design
	// states.
	Store dynamo.API
	// Now is the current time for the example rows; default Epoch.
	Now time.Time
	// Rows is the number of example rows per entity, 1 to 5; default 2.
	Rows int
	// TableName is the table's name in requests; default the schema's name.
	TableName string
	// Prices are used to compute the cost of declared loads; nil: no costs are shown.
	Prices *Prices
	// Flows are the readers of the table's change stream. Flows that read no entity of the schema
	// are omitted.
	Flows []Flow
}

// Prices are the prices of on-demand request units, in dollars per million.
type Prices struct {
	Read  float64 `json:"read"`
	Write float64 `json:"write"`
	Of    string  `json:"of"` // place and date, such as "us-east-1, of 2026-11-20"
}

// Flow reads changes of entities and derives another entity from them.
type Flow struct {
	Name string   `json:"name"`
	From []string `json:"from"`
	Into string   `json:"into,omitempty"` // "" for a flow that only reacts to changes
}

// Epoch is the default time of example rows. It is fixed, so that documents have the same bytes
// every day.
var Epoch = time.Date(2026, 5, 12, 14, 0, 0, 0, time.UTC)

const maxRows = 5

// ErrOptions is returned for options that are out of range.
var ErrOptions = errors.New("blueprint: options")

// Design describes a table: its entities, its access patterns, and the results of executing the
// patterns on example rows.
type Design struct {
	Name      string    `json:"name"`
	TableName string    `json:"tableName"`
	Indexes   []string  `json:"indexes"`
	Entities  []Entity  `json:"entities"`
	Patterns  []Pattern `json:"patterns"`
	Executed  bool      `json:"executed"` // whether the patterns were executed
	Tiers     []Tiers   `json:"tiers,omitempty"`
	Flows     []Flow    `json:"flows,omitempty"`
	Prices    *Prices   `json:"prices,omitempty"`

	Gaps      []table.Gap      `json:"gaps,omitempty"`
	Decisions []table.Decision `json:"decisions,omitempty"`
}

// Tiers are levels of data that are rolled up from fine to coarse.
type Tiers struct {
	Name  string `json:"name"`
	Tiers []Tier `json:"tiers"`
}

// Tier is one level of Tiers: facts, or buckets of one length.
type Tier struct {
	Name   string        `json:"name"`
	Bucket time.Duration `json:"bucket"` // time span of one item, in nanoseconds; 0 for facts
	Keep   time.Duration `json:"keep"`   // retention, in nanoseconds; 0 means forever
}

// Entity is a type of item.
type Entity struct {
	table.EntityInfo
	Rows []Row `json:"rows"` // examples, written by the same encoder as real items
}

// Row is an example item.
type Row struct {
	Entity string     `json:"entity"`
	Item   table.Item `json:"-"`
	Bytes  int        `json:"bytes"`

	example *table.ExampleRow
}

// Pattern is an access pattern.
type Pattern struct {
	table.PatternInfo
	Callers   []string   `json:"callers,omitempty"`
	Execution *Execution `json:"execution,omitempty"` // nil if it was not executed
	Units     Units      `json:"units"`               // of one call at the declared load
	Heat      Heat       `json:"heat"`                // at the declared load
	Monthly   float64    `json:"monthly,omitempty"`   // cost of the declared load in a month of 730 hours, in dollars
}

// New makes the design of a schema. Errors: ErrOptions; entities whose examples cannot be stored;
// patterns that fail or find nothing, because a wrong document must not be written.
func New(ctx context.Context, s *table.Schema, o Options) (*Design, error) {
	if o.Rows == 0 {
		o.Rows = 2
	}
	if o.Rows < 1 || o.Rows > maxRows {
		return nil, fmt.Errorf("%w: Rows is %d: use 1 to %d", ErrOptions, o.Rows, maxRows)
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
	d.addAnnotations(s.Annotations())
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

// addAnnotations adds the schema's annotations.
func (d *Design) addAnnotations(r table.Annotations) {
	d.Gaps, d.Decisions = r.Gaps, r.Decisions
	for _, c := range r.Callers {
		for i := range d.Patterns {
			if p := &d.Patterns[i]; slices.Contains(c.Patterns, p.ID) {
				p.Callers = append(p.Callers, c.Name)
			}
		}
	}
}

// SingleTableDesign returns the design of a schema with example rows, without executing its
// patterns; New can execute them.
func SingleTableDesign(s *table.Schema) (*Design, error) {
	return New(context.Background(), s, Options{})
}

// AccessPatternMatrix returns the access patterns of a schema, with units and hottest keys at the
// declared loads.
func AccessPatternMatrix(s *table.Schema) ([]Pattern, error) {
	d, err := SingleTableDesign(s)
	if err != nil {
		return nil, err
	}
	return d.Patterns, nil
}

// Document returns the design of a schema as Markdown, without executing its patterns.
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
			if !slices.ContainsFunc(e.Rows, same) { // some entities have only one possible example
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
	for _, writing := range []bool{false, true} { // reading patterns first, because writing ones change the items
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

// Partition contains the rows with one partition key, in the order of their sort keys.
type Partition struct {
	Key  string
	Rows []Row
}

// Partitions returns the example rows as stored in the table or, if index is not "", in an index.
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
