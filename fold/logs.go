package fold

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/fold/internal/requests"
	"github.com/onefold/onefold/table"
)

// openLog is what a worker knows of a log, based on all pages before next.
type openLog struct {
	*erasedLog
	id    string         // of its first page
	first table.Item     // key of its first page
	end   table.Item     // key of the last page possible
	known bool           // all pages before next have been read
	next  int            // number of the next page
	last  any            // the page before next, without its states; nil if there is none
	at    map[string]int // number of the last page that contains a state, by the state's sort key
	tick  uint64         // Worker.tick after the pages were read
	used  time.Time      // last use
}

// openLogs are the known logs of one pipeline.
type openLogs struct {
	def  *erasedLog
	byID map[string]*openLog
}

// logGroup are the deltas of one log in a flush.
type logGroup struct {
	log      *openLog
	pipeline pipeline
	open     []*delta
}

// Limits on what a worker remembers of logs between flushes.
const (
	maxLogged = 1_000_000 // states, by sort key
	keepLog   = time.Hour // since the last use of a log
)

// grouped groups deltas of logged states by log.
func (w *Worker) grouped(open []*delta) (groups []*logGroup) {
	byLog := make(map[*openLog]*logGroup)
	for _, d := range open {
		lg, err := d.pipeline.logs().of(d)
		if err != nil {
			w.deadItem(d, err)
			d.done = true
			continue
		}
		lg.used = w.o.Clock()
		g := byLog[lg]
		if g == nil {
			g = &logGroup{log: lg, pipeline: d.pipeline}
			byLog[lg] = g
			groups = append(groups, g)
		}
		g.open = append(g.open, d)
	}
	return groups
}

// of returns the log of a delta.
func (l *openLogs) of(d *delta) (*openLog, error) {
	if d.log != nil && l.byID[d.log.id] == d.log {
		return d.log, nil
	}
	var first, end table.Item
	err := catchPanic(func() (err error) {
		if first, err = l.def.key(l.def.open(d.state, 0, nil)); err == nil {
			end, err = l.def.key(l.def.open(d.state, MaxPage, nil))
		}
		return err
	})
	if err == nil && stringOf(first[table.AttrPK]) != stringOf(d.key[table.AttrPK]) {
		err = fmt.Errorf("%w: fold %s: pages are in partition %s, but states in %s", ErrDefinition, d.pipeline.fold().name, stringOf(first[table.AttrPK]), stringOf(d.key[table.AttrPK]))
	}
	if err != nil {
		return nil, err
	}
	id := requests.ID(first)
	if d.log = l.byID[id]; d.log == nil {
		d.log = &openLog{erasedLog: l.def, id: id, first: first, end: end, at: make(map[string]int)}
		l.byID[id] = d.log
	}
	return d.log, nil
}

// trim forgets logs that were not used for an hour and, if the rest have too many states, the least
// recently used ones. A log must not be remembered for longer than its pages are kept: after they
// expire, its numbers may start again from 0 unnoticed.
func (l *openLogs) trim(now time.Time) {
	states := 0
	for _, lg := range l.byID {
		states += 1 + len(lg.at)
	}
	byUse := slices.SortedFunc(maps.Values(l.byID), func(a, b *openLog) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.id, b.id)) })
	for _, lg := range byUse {
		if states <= maxLogged && now.Sub(lg.used) < keepLog {
			return
		}
		states -= 1 + len(lg.at)
		delete(l.byID, lg.id)
	}
}

// catchUp reads the pages of a log that the worker does not know yet. A page that cannot be decoded
// is recorded in a dead letter of the fold, and states that only this page contains are treated as
// absent.
func (w *Worker) catchUp(ctx context.Context, g *logGroup) error {
	lg := g.log
	key, err := lg.keyAt(g.open[0].state, lg.next)
	if err != nil {
		return err
	}
	err = w.readPages(ctx, key, lg.end, func(it table.Item) {
		page, body, err := lg.decode(it)
		var entries []entry
		if err == nil {
			entries, err = decodePage(body.States, entrySK)
		}
		if err != nil {
			w.deadItem(&delta{pipeline: g.pipeline, id: requests.ID(it), key: it, changes: g.open[0].changes}, err)
			lg.next = max(lg.next, lg.numberOf(it)+1)
			return
		}
		for i := range entries {
			lg.at[entries[i].SK] = body.Number
		}
		lg.last, lg.next = page, body.Number+1
	})
	if err != nil {
		return fmt.Errorf("read the log %s: %w", lg.id, err)
	}
	lg.known, lg.tick = true, w.tick.Add(1)
	return nil
}

// keyAt returns the key of the numbered page in the log of a state.
func (l *openLog) keyAt(state any, number int) (key table.Item, err error) {
	err = catchPanic(func() (err error) {
		key, err = l.key(l.open(state, number, nil))
		return err
	})
	return key, err
}

// numberOf returns the number of a page that cannot be decoded, taken from the digits at the end of
// its sort key, or 0 if there are none.
func (l *openLog) numberOf(it table.Item) (n int) {
	sk := stringOf(it[table.AttrSK])
	for i, unit := len(sk)-1, 1; i >= 0 && sk[i] >= '0' && sk[i] <= '9' && unit <= MaxPage; i, unit = i-1, 10*unit {
		n += int(sk[i]-'0') * unit
	}
	return n
}

// readPages reads the pages of a log between two keys, both included, in order.
func (w *Worker) readPages(ctx context.Context, from, to table.Item, each func(table.Item)) error {
	return w.query(ctx, itemsBetween(w.table.Name(), from[table.AttrPK], from[table.AttrSK], to[table.AttrSK]), func(it table.Item) error {
		each(it)
		return nil
	})
}

// query reads all pages of a query and calls each for its items, in order, until it fails.
func (w *Worker) query(ctx context.Context, in *dynamodb.QueryInput, each func(table.Item) error) error {
	for {
		var out *dynamodb.QueryOutput
		err := w.requests.Retry(ctx, func() (err error) {
			out, err = w.table.API().Query(ctx, in)
			return err
		})
		if err != nil {
			return err
		}
		w.requests.Read.Add(int64(len(out.Items)))
		for _, it := range out.Items {
			if err := each(it); err != nil {
				return err
			}
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
			return nil
		}
	}
}

// itemsBetween returns a consistent query for the items of a partition from one sort key to another.
func itemsBetween(name string, pk, from, to types.AttributeValue) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		TableName: ptr(name), ConsistentRead: ptr(true),
		KeyConditionExpression:    ptr("#pk = :pk AND #sk BETWEEN :from AND :to"),
		ExpressionAttributeNames:  map[string]string{"#pk": table.AttrPK, "#sk": table.AttrSK},
		ExpressionAttributeValues: map[string]types.AttributeValue{":pk": pk, ":from": from, ":to": to},
	}
}

// holdLogged gives the deltas of a group their states: from memory, from the pages that contain
// them, or zero states.
func (w *Worker) holdLogged(ctx context.Context, g *logGroup) error {
	if !g.log.known {
		if err := w.catchUp(ctx, g); err != nil {
			return err
		}
	}
	c := g.pipeline.cache()
	missing := make(map[int][]*delta)
	for _, d := range g.open {
		if d.done || d.held != nil {
			continue
		}
		number, there := g.log.at[stringOf(d.key[table.AttrSK])]
		s := c.take(d.id)
		switch {
		case !there:
			w.holdState(d, nil, &stored{loaded: g.log.tick})
		case s != nil && s.version == int64(number)+1:
			d.held = s
		default:
			missing[number] = append(missing[number], d)
		}
	}
	return w.fetchStates(ctx, g, missing)
}

// holdState completes s with the decoded state and gives it to a delta to merge into. A state that
// cannot be decoded is poison.
func (w *Worker) holdState(d *delta, encoded []byte, s *stored) {
	err := catchPanic(func() (err error) {
		if s.state, err = d.pipeline.decode(d, nil); err == nil && encoded != nil {
			err = d.pipeline.logs().def.read(encoded, s.state)
		}
		return err
	})
	if err != nil {
		w.deadItem(d, fmt.Errorf("decode derived state: %w", err))
		d.done = true
		return
	}
	s.encoded, d.held = encoded, s
}

// fetchStates reads the pages that contain the states of deltas. missing is by page number.
func (w *Worker) fetchStates(ctx context.Context, g *logGroup, missing map[int][]*delta) error {
	numbers := slices.Sorted(maps.Keys(missing))
	for ; len(numbers) > 0; numbers = numbers[min(len(numbers), requests.MaxItems):] {
		part := numbers[:min(len(numbers), requests.MaxItems)]
		keys, of := make([]table.Item, len(part)), make(map[string]int, len(part))
		for i, number := range part {
			var err error
			if keys[i], err = g.log.keyAt(missing[number][0].state, number); err != nil {
				return err
			}
			of[requests.ID(keys[i])] = number
		}
		items, err := w.requests.Items(ctx, keys)
		if err != nil {
			return fmt.Errorf("load pages: %w", err)
		}
		tick := w.tick.Add(1)
		for id, number := range of {
			w.holdFrom(g.log, items[id], missing[number], &stored{exists: true, version: int64(number) + 1, loaded: tick})
		}
	}
	return nil
}

// holdFrom gives deltas their states from a page. of holds what these states have in common.
func (w *Worker) holdFrom(lg *openLog, page table.Item, some []*delta, of *stored) {
	found := make(map[string]*entry, len(some))
	var entries []entry
	if page != nil { // otherwise it has expired together with its states
		_, body, err := lg.decode(page)
		if err == nil {
			entries, err = decodePage(body.States, entrySK, entryIs, entryHas, entryMarks)
		}
		if err != nil {
			w.deadItem(&delta{pipeline: some[0].pipeline, id: requests.ID(page), key: page, changes: some[0].changes}, err)
		}
	}
	for i := range entries {
		found[entries[i].SK] = &entries[i]
	}
	for _, d := range some {
		s := &stored{loaded: of.loaded}
		var encoded []byte
		if e := found[stringOf(d.key[table.AttrSK])]; e != nil {
			*s = *of
			s.marks, encoded = e.Counts, e.after()
		}
		w.holdState(d, encoded, s)
	}
}
