package cost

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/blueprint"
	"github.com/onefold/onefold/table"
)

// A month has 730 hours, as in AWS's calculations.
const (
	hoursMonth   = 730
	daysMonth    = hoursMonth / 24.0
	secondsMonth = hoursMonth * 3600
	secondsDay   = 24 * 3600
)

// itemOverhead is the number of bytes billed for each item, and each of its index entries, in
// addition to its size.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
const itemOverhead = 100

// MaxEventsPerDay is the maximum number of events: a hundred billion.
const MaxEventsPerDay = 1e11

// ErrOptions is returned for options that are out of range.
var ErrOptions = errors.New("bad_options")

// Workload is the monthly usage of a table.
type Workload struct {
	Name         string  `json:"name"`
	EventsPerDay float64 `json:"eventsPerDay"` // 0 if unknown
	Lines        []Line  `json:"lines"`        // in the order of the schema, entities first
	Shards       int     `json:"shards"`       // open shards of the stream
	Indexes      int     `json:"indexes"`      // of the table; 0 if unknown
}

// Line is the monthly usage of one entity or pattern.
type Line struct {
	Entity     string  `json:"entity"`
	Pattern    string  `json:"pattern,omitempty"` // ID; "" for what folds write
	Question   string  `json:"question"`
	WriteUnits float64 `json:"writeUnits"`
	ReadUnits  float64 `json:"readUnits"`
	Writes     float64 `json:"writes"` // items written, which are also changes in the stream
	StoredGB   float64 `json:"storedGB"`
}

// Options are the circumstances of a declared workload.
type Options struct {
	Months  int  // of stored events, 1 to 1,200
	Delayed bool // a fold delay of 30 seconds, as with onefold serve --fold-delay 30s: fewer writes per event
	Sites   int  // sites or fleets that share the events evenly, 1 to MaxSites; 0 means 1
	Workers Workers
}

// MaxSites is the maximum number of sites or fleets.
const MaxSites = 1_000_000

func (o *Options) check() error {
	switch {
	case o.Months < 1 || o.Months > 1200:
		return fmt.Errorf("%w: %d months: use 1 to 1200", ErrOptions, o.Months)
	case o.Sites < 0 || o.Sites > MaxSites:
		return fmt.Errorf("%w: %d sites: use 1 to %d", ErrOptions, o.Sites, MaxSites)
	}
	return o.Workers.check()
}

// Declared returns the workload that a design declares for the given number of events a day. Writes
// of entities with table.Growth grow with the events. Reads do not, because they come from people. In
// a schema without growth, all loads are scaled so that the busiest writing pattern runs once per
// event. Errors: ErrOptions.
func Declared(d *blueprint.Design, eventsPerDay float64, o Options) (*Workload, error) {
	if !(eventsPerDay >= 0 && eventsPerDay <= MaxEventsPerDay) {
		return nil, fmt.Errorf("%w: %g events a day: 0 to %g", ErrOptions, eventsPerDay, float64(MaxEventsPerDay))
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	w := &Workload{Name: d.Name, EventsPerDay: eventsPerDay, Indexes: len(d.Indexes)}
	grows := make(map[string]bool)
	for i := range d.Entities {
		if e := &d.Entities[i]; e.Growth.Writes > 0 {
			grows[e.Name] = true
			w.Lines = append(w.Lines, o.growing(d, e, eventsPerDay))
		}
	}
	w.Shards = o.Workers.shards(w)
	if len(grows) > 0 && folds(d) {
		w.Lines = append(w.Lines, o.Workers.lines(w.Shards, eventsPerDay, o.Delayed)...)
	}
	scale, kept := 1.0, 0
	if len(grows) == 0 {
		scale, kept = scaled(d, eventsPerDay), o.Months
	}
	for i := range d.Patterns {
		if p := &d.Patterns[i]; p.Load.PerSecond > 0 && !(writes(p) && grows[p.Entity]) {
			w.Lines = append(w.Lines, asked(p, scale, kept))
		}
	}
	return w, nil
}

// Metered is the metered usage of one type of item, or of keys with one prefix.
type Metered struct {
	Name       string  `json:"name"`
	Writes     float64 `json:"writes"`
	WriteUnits float64 `json:"writeUnits"`
	ReadUnits  float64 `json:"readUnits"`
}

// Observed returns the workload for eventsPerDay, extrapolated from usage metered while the given
// number of events arrived in the given time. Reads grow like writes. Storage is not included.
// Errors: ErrOptions if the time or number of events is not positive.
func Observed(name string, all []Metered, took time.Duration, events, eventsPerDay float64) (*Workload, error) {
	if took <= 0 || !(events > 0) {
		return nil, fmt.Errorf("%w: %g events in %s are not enough to estimate a month", ErrOptions, events, took)
	}
	if !(eventsPerDay >= 0 && eventsPerDay <= MaxEventsPerDay) {
		return nil, fmt.Errorf("%w: %g events a day: 0 to %g", ErrOptions, eventsPerDay, float64(MaxEventsPerDay))
	}
	w := &Workload{Name: name, EventsPerDay: eventsPerDay}
	scale := eventsPerDay * daysMonth / events
	for _, m := range all {
		w.Lines = append(w.Lines, Line{Entity: m.Name, Writes: m.Writes * scale, WriteUnits: m.WriteUnits * scale, ReadUnits: m.ReadUnits * scale})
	}
	w.Shards = Workers{}.shards(w)
	return w, nil
}

func writes(p *blueprint.Pattern) bool { return p.Units.Write > 0 }

// scaled returns the factor for all loads with which the busiest writing pattern runs once per
// event.
func scaled(d *blueprint.Design, eventsPerDay float64) float64 {
	busiest := 0.0
	for i := range d.Patterns {
		if p := &d.Patterns[i]; writes(p) {
			busiest = max(busiest, p.Load.PerSecond)
		}
	}
	if busiest == 0 {
		return 1
	}
	return eventsPerDay / (busiest * 24 * 3600)
}

// growing returns the effect of events on an entity. Sites and fleets write their own items, so each
// takes its share of the events; what does not belong to one takes all of them.
func (o *Options) growing(d *blueprint.Design, e *blueprint.Entity, perDay float64) Line {
	n := 1.0
	if strings.HasPrefix(e.PK, "SITE#{") || strings.HasPrefix(e.PK, "FLEET#{") {
		n = float64(cmp.Or(o.Sites, 1))
	}
	l := o.growingOf(d, e, perDay/n)
	l.Writes, l.WriteUnits, l.ReadUnits, l.StoredGB = l.Writes*n, l.WriteUnits*n, l.ReadUnits*n, l.StoredGB*n
	return l
}

// growingOf is growing for one site.
func (o *Options) growingOf(d *blueprint.Design, e *blueprint.Entity, perDay float64) Line {
	g := e.Growth
	perSecond := perDay / secondsDay
	l := Line{Entity: e.Name, Question: e.Doc, Writes: written(&g, perSecond, o.Delayed) * secondsMonth}
	times := 1 + g.Indexes
	if g.Transact {
		times = 2 + g.Indexes
	}
	bytes, each := itemOf(&g, l.Writes, perDay*daysMonth)
	l.WriteUnits = l.Writes * writeUnits(&g, bytes) * float64(times)
	l.ReadUnits = together(l.Writes/secondsMonth*g.Reads, g.MostReads) * secondsMonth
	days := daysMonth * float64(o.Months)
	if g.Keep > 0 {
		days = min(days, g.Keep.Hours()/24)
	}
	l.StoredGB = perDay * days * g.Items * each * float64(1+g.Indexes) / gigabyte
	if g.Items >= 1 { // facts: a pattern is called for each of them
		if p := busiestWriter(d, e.Name); p != nil {
			l.Pattern, l.Question = p.ID, p.Question
		}
	}
	return l
}

// SetDailyViews scales reads to the given number of views of figures a day. Patterns declare the reads for
// declaredViews. It is for schemas whose reads do not grow with events.
func (w *Workload) SetDailyViews(perDay float64) {
	for i := range w.Lines {
		if l := &w.Lines[i]; l.Pattern != "" && l.Writes == 0 {
			l.ReadUnits *= perDay / declaredViews
		}
	}
}

// declaredViews is the number of views a day for which schemas declare the loads of reading
// patterns: one every two seconds.
const declaredViews = 43_200

const gigabyte = 1 << 30

// writeUnits returns the average cost of writing an item. If items are shared by facts, their sizes
// vary, so rounding up to whole units costs half a unit on average.
func writeUnits(g *table.Growth, bytes int) float64 {
	if g.Packed == 0 {
		return blueprint.WriteUnits(bytes)
	}
	return max(float64(bytes)/1024+0.5, 1)
}

// WriteUnits returns the write units a second of an entity's items in the table, without indexes, for
// a number of facts a second. delayed is as for Options.
func WriteUnits(g *table.Growth, facts float64, delayed bool) float64 {
	writes := written(g, facts, delayed)
	bytes, _ := itemOf(g, writes, facts)
	units := writes * writeUnits(g, bytes)
	if g.Transact {
		units *= 2
	}
	return units
}

// written returns the writes of an entity per second.
func written(g *table.Growth, facts float64, delayed bool) float64 {
	if !delayed {
		return max(together(facts*g.Writes, g.Most), facts*g.Delayed)
	}
	if g.MostDelayed > 0 {
		return max(together(facts*g.Writes, g.MostDelayed), facts*g.Delayed)
	}
	return together(facts*cmp.Or(g.Delayed, g.Writes), g.Most)
}

// together returns the writes per second when writes between two flushes are combined. alone is the
// number without combining, and most is the maximum number of flushes a second; 0 means no maximum.
func together(alone, most float64) float64 {
	if most <= 0 {
		return alone
	}
	return alone / (1 + alone/most)
}

// itemOf returns the size of an item, and the stored bytes per fact.
func itemOf(g *table.Growth, writes, facts float64) (bytes int, each float64) {
	if g.Packed == 0 || writes == 0 {
		return g.Bytes, float64(g.Bytes + itemOverhead)
	}
	shared := max(facts/writes, 1)
	bytes = g.Bytes + int(float64(g.Packed)*(shared-1))
	return bytes, float64(bytes+itemOverhead) / shared
}

func busiestWriter(d *blueprint.Design, entity string) *blueprint.Pattern {
	var found *blueprint.Pattern
	for i := range d.Patterns {
		if p := &d.Patterns[i]; p.Entity == entity && writes(p) && (found == nil || p.Load.PerSecond > found.Load.PerSecond) {
			found = p
		}
	}
	return found
}

// asked returns the usage of a pattern. What it writes is stored for the given number of months.
func asked(p *blueprint.Pattern, scale float64, months int) Line {
	calls := p.Load.PerSecond * scale * secondsMonth
	l := Line{Entity: p.Entity, Pattern: p.ID, Question: p.Question, WriteUnits: calls * p.Units.Write, ReadUnits: calls * p.Units.Read}
	if !writes(p) {
		return l
	}
	l.Writes = calls * float64(p.Units.Items)
	if p.Operation == "PutItem" || p.Operation == "TransactWriteItems" {
		l.StoredGB = l.Writes * float64(months) * float64(p.Units.Bytes/max(p.Units.Items, 1)+itemOverhead) / gigabyte
	}
	return l
}

// Sum is the total of lines with the same name.
type Sum struct {
	Name       string  `json:"name"`
	WriteUnits float64 `json:"writeUnits"`
	ReadUnits  float64 `json:"readUnits"`
	StoredGB   float64 `json:"storedGB"`
	Cost       float64 `json:"cost"` // monthly cost of on-demand requests and storage
}

// By sums lines by name, most expensive first. Lines without a name are omitted.
func (w *Workload) By(p *Prices, name func(*Line) string) []Sum {
	at := map[string]int{}
	var sums []Sum
	for i := range w.Lines {
		l := &w.Lines[i]
		n := name(l)
		if n == "" {
			continue
		}
		if _, ok := at[n]; !ok {
			at[n] = len(sums)
			sums = append(sums, Sum{Name: n})
		}
		s := &sums[at[n]]
		s.WriteUnits, s.ReadUnits, s.StoredGB = s.WriteUnits+l.WriteUnits, s.ReadUnits+l.ReadUnits, s.StoredGB+l.StoredGB
		s.Cost += p.requests(l.WriteUnits, l.ReadUnits) + l.StoredGB*p.StorageMonth
	}
	slices.SortStableFunc(sums, func(a, b Sum) int {
		return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(a.Name, b.Name))
	})
	return sums
}

func (p *Prices) requests(write, read float64) float64 {
	return (write*p.WriteMillion + read*p.ReadMillion) / 1e6
}

// rounded rounds to the cent, so that documents do not suggest more precision.
func rounded(v float64) float64 { return math.Round(v*100) / 100 }
