package fold

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/internal/block"
	"github.com/onefold/onefold/table"
)

// pendingEntry is a merged delta, the state to keep afterwards, and the encoding of the state
// before.
type pendingEntry struct {
	d    *delta
	next *stored
	was  []byte
}

// writeLog writes the deltas of a log to its next pages, and retries after conflicts with other
// writers up to maxConflicts times.
func (w *Worker) writeLog(ctx context.Context, g *logGroup) error {
	for conflicts := 0; ; conflicts++ {
		pending, entries, err := w.mergeLogged(ctx, g)
		if err == nil {
			err = w.putPages(ctx, g, pending, entries)
		}
		if err != nil {
			for _, d := range g.open {
				d.dropState()
			}
		}
		if err == nil || !dynamo.IsConditionFailed(err) {
			return err
		}
		if conflicts == maxConflicts {
			return fmt.Errorf("log %s: %w", g.log.id, errLost)
		}
		w.counts.conflicts.Add(1)
		if err := w.o.Sleep(ctx, w.requests.Backoff(min(conflicts+1, 5))); err != nil {
			return err
		}
		g.open = slices.DeleteFunc(g.open, func(d *delta) bool { return d.done })
		if err := w.holdLogged(ctx, g); err != nil {
			return err
		}
		if err := w.readCheckpointsFor(ctx, g.open); err != nil {
			return err
		}
	}
}

// mergeLogged merges the deltas of a log into their states as last seen.
func (w *Worker) mergeLogged(ctx context.Context, g *logGroup) (pending []pendingEntry, entries []entry, err error) {
	for _, d := range g.open {
		for !d.done {
			p, e, err := w.mergeState(ctx, d)
			if err == nil {
				if e != nil {
					pending, entries = append(pending, p), append(entries, *e)
				}
				break
			}
			poison, ok := isPoison(err)
			switch {
			case !ok:
				return nil, nil, err
			case poison.change == nil:
				w.deadItem(d, err)
				d.done, d.held = true, nil
				continue
			}
			w.deadChange(d.pipeline, poison.change, err)
		}
	}
	return pending, entries, nil
}

// mergeState merges a delta into its state as last seen. The entry is nil if the state has counted
// all of the delta already.
func (w *Worker) mergeState(ctx context.Context, d *delta) (p pendingEntry, e *entry, err error) {
	s := d.held
	if err := w.filter(d, s); err != nil {
		return p0, nil, err
	}
	if len(d.changes) == 0 {
		d.pipeline.cache().put(d.id, s)
		d.done = true
		return p0, nil, nil
	}
	removable, err := d.pipeline.merge(ctx, s.state, d)
	d.stale = true // the merge may have kept parts of it
	if p, ok := isPoison(err); ok && p.partial {
		w.deadItem(d, err)
	} else if err != nil {
		return p0, nil, err
	}
	next := &stored{state: s.state, exists: true, marks: w.nextMarks(d, s), loaded: s.loaded}
	if removable {
		next.state, err = d.pipeline.decode(d, nil)
	} else {
		err = catchPanic(func() error {
			next.encoded = d.pipeline.logs().def.append(s.state)
			return nil
		})
	}
	if err != nil {
		return p0, nil, &poisonError{err: err}
	}
	return pendingEntry{d, next, s.encoded}, &entry{
		SK: stringOf(d.key[table.AttrSK]), Was: string(s.encoded), Had: s.encoded != nil,
		Is: string(next.encoded), Has: !removable, Counts: next.marks,
	}, nil
}

var p0 pendingEntry // none

// putPages appends the entries to their log, in as many pages as necessary.
func (w *Worker) putPages(ctx context.Context, g *logGroup, pending []pendingEntry, entries []entry) error {
	for part, err := range pagesOf(entries) {
		n := len(part.Facts)
		some := pending[:n]
		pending = pending[n:]
		if err != nil {
			w.deadItem(some[0].d, err)
			some[0].d.done, some[0].d.held = true, nil
			continue
		}
		if err := w.putPage(ctx, g.log, some, part); err != nil {
			return err
		}
	}
	return nil
}

// putPage appends one page. If the put fails it may still have been stored, so the log is marked to
// be read again.
func (w *Worker) putPage(ctx context.Context, lg *openLog, some []pendingEntry, part block.Part[entry]) error {
	page, it, err := lg.encodePage(some, part.Body, w.o.Clock())
	if err != nil {
		for i := range some {
			w.deadItem(some[i].d, err)
			some[i].d.done, some[i].d.held = true, nil
		}
		return nil
	}
	err = w.put(ctx, putIfAbsent(w.table.Name(), it))
	if err != nil {
		lg.known = false
		return err
	}
	w.counts.writes.Add(1)
	number := lg.next
	lg.last, lg.next = page, number+1
	for i := range some {
		p := &some[i]
		p.next.version = int64(number) + 1
		p.d.done = true
		lg.at[part.Facts[i].SK] = number
		p.d.pipeline.cache().put(p.d.id, p.next)
	}
	return nil
}

// encodePage encodes the next page. It also returns the page as kept in memory, without its states.
func (l *openLog) encodePage(some []pendingEntry, body []byte, now time.Time) (page any, it table.Item, err error) {
	if l.next > MaxPage {
		return nil, nil, fmt.Errorf("fold: log %s is full: it has %d pages", l.id, l.next)
	}
	err = catchPanic(func() (err error) {
		page = l.open(some[0].next.state, l.next, l.last)
		for i := range some {
			p := &some[i]
			var after any
			if p.next.encoded != nil {
				after = p.next.state
			}
			if err := l.note(page, p.d.key, p.was, after); err != nil {
				return err
			}
		}
		if it, err = l.encode(page, body); err == nil {
			page, _, err = l.decode(it) // a copy without the states
		}
		return err
	})
	if slices.ContainsFunc(some, func(p pendingEntry) bool { return p.next.encoded == nil }) {
		keepPage(it, now)
	}
	return page, it, err
}

// putIfAbsent returns a request that puts a page unless one with its number exists.
func putIfAbsent(name string, page table.Item) *dynamodb.PutItemInput {
	return &dynamodb.PutItemInput{
		TableName: ptr(name), Item: page,
		ConditionExpression: ptr("attribute_not_exists(#pk)"), ExpressionAttributeNames: map[string]string{"#pk": table.AttrPK},
	}
}

// keepPage extends the life of a page with tombstones, so that it is kept at least as long as
// tombstones are.
func keepPage(it table.Item, now time.Time) {
	if until := now.Add(keepTombstone).Unix(); it[table.AttrTTL] != nil && intOf(it, table.AttrTTL) < until {
		it[table.AttrTTL] = number(until)
	}
}
