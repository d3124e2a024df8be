package fold

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/fold/internal/requests"
	"github.com/onefold/onefold/fold/internal/window"
	"github.com/onefold/onefold/table"
)

// This file decides which facts came first; see the package comment. The windows of a shard are
// complete as long as the worker reads all its changes in sequence. When it continues at another
// position, it forgets them (jump).

const (
	smallPart = 800      // bytes: a part this small costs one write unit, so it is rewritten with new entries instead of adding a part
	fullPart  = 48 << 10 // maximum size of a part in bytes
	fewSpans  = 4        // up to this many windows are queried separately; more are read as one range
)

// dropRepeated removes facts from a change that other items had first. After an error nothing has changed.
func (w *Worker) dropRepeated(ctx context.Context, d *routed) error {
	o := d.reader.source.once
	if o == nil || d.err != nil || d.from == d.to {
		return nil
	}
	facts := w.facts[d.from:d.to]
	ids, named, err := o.factIDs(facts)
	if err != nil {
		d.err, d.to = err, d.from
		return nil //nolint:nilerr // it is the change's, and goes to the dead letters
	}
	if err := w.loadWindows(ctx, d, ids, named); err != nil {
		return err
	}
	left := facts[:0]
	for i, f := range facts {
		if named[i] && !w.isFirst(d, f.typed, ids[i]) {
			w.counts.repeated.Add(1)
			continue
		}
		left = append(left, f)
	}
	clear(facts[len(left):])
	d.to = d.from + len(left)
	return nil
}

// isFirst reports whether a fact counts in the item from which it was read.
func (w *Worker) isFirst(d *routed, f any, id FactID) bool {
	k := w.windowOf(d, id)
	if had := k.set.Add(id.ID, d.sk); had != "" {
		return had == d.sk // true if the change is read again, or the item repeats the fact in a later change
	}
	if k.since == nil {
		k.since = &d.sourceChange
	}
	k.fresh = append(k.fresh, window.Entry{ID: id.ID, Item: d.sk})
	k.fact, k.until = f, max(k.until, id.Until)
	w.known++
	return true
}

// windowOf returns the window of a fact, which must be loaded.
func (w *Worker) windowOf(d *routed, id FactID) *loadedWindow {
	o := d.reader.source.once
	k := d.shard.windows[spanKey{o, d.pk, o.start(id.At)}]
	k.used = w.turns
	return k
}

// loadWindows reads the windows needed for the facts of a change that are not in memory.
func (w *Worker) loadWindows(ctx context.Context, d *routed, ids []FactID, named []bool) error {
	o := d.reader.source.once
	var missing []int64
	last := int64(-1)
	for i := range ids {
		start := o.start(ids[i].At)
		if !named[i] || start == last {
			continue
		}
		last = start
		if d.shard.windows[spanKey{o, d.pk, start}] == nil {
			missing = append(missing, start)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	missing = slices.Compact(missing)
	found := make(map[int64]*loadedWindow, len(missing))
	for _, start := range missing {
		found[start] = &loadedWindow{spanKey: spanKey{o, d.pk, start}}
	}
	for _, ask := range windowRanges(missing) {
		if err := w.readWindows(ctx, o, d.pk, ask[0], ask[1], func(start int64, part *Window) { w.mergeWindow(found[start], part) }); err != nil {
			return fmt.Errorf("read the windows of %s: %w", d.pk, err)
		}
	}
	if d.shard.windows == nil {
		d.shard.windows = make(map[spanKey]*loadedWindow)
	}
	for _, k := range found {
		d.shard.windows[k.spanKey] = k
		w.known += k.set.Len()
	}
	return nil
}

// windowRanges returns the intervals in which to query windows.
func windowRanges(missing []int64) (ask [][2]int64) {
	if len(missing) > fewSpans {
		return [][2]int64{{missing[0], missing[len(missing)-1]}}
	}
	for _, start := range missing {
		ask = append(ask, [2]int64{start, start})
	}
	return ask
}

// mergeWindow adds a stored part to a window; nil is a window that was not asked for. Damage is
// only logged, since nothing else can be done: facts in the part would count again if they were
// sent again.
func (w *Worker) mergeWindow(k *loadedWindow, part *Window) {
	if k == nil {
		return
	}
	if err := k.set.Merge(part.Known); err != nil {
		w.o.Logger.Error("fold: repeated facts may be counted twice", "partition", k.pk, "window", spanName(k.start), "err", err)
	}
	k.until = max(k.until, part.Until)
}

// readWindows reads the stored parts of all windows of a partition that begin in an interval, both
// ends included.
func (w *Worker) readWindows(ctx context.Context, o *once, pk string, from, to int64, each func(start int64, part *Window)) error {
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	in := itemsBetween(w.table.Name(), text(pk), text(WindowPrefix+spanName(from)+"#"), text(WindowPrefix+spanName(to)+"$")) // '$' follows '#'
	return w.query(ctx, in, func(it table.Item) error {
		if entityOf(it) != o.entity {
			return nil
		}
		part, err := o.decode(it)
		if err != nil {
			return err
		}
		span, _, _ := strings.Cut(strings.TrimPrefix(stringOf(it[table.AttrSK]), WindowPrefix), "#")
		at, err := time.Parse(WindowLayout, span)
		if err != nil {
			return err
		}
		each(at.UnixMilli(), part)
		return nil
	})
}

// flushWindows stores new entries of windows: all, or those that have waited as long as Hold allows
// for the folds that count the facts.
func (w *Worker) flushWindows(ctx context.Context, all bool) error {
	now := w.o.Clock()
	var due []*loadedWindow
	for _, sh := range w.order {
		for _, k := range sh.windows {
			if k.since == nil {
				continue
			}
			if k.waits.IsZero() {
				k.waits = now
			}
			if all || now.Sub(k.waits) >= w.onceHold {
				due = append(due, k)
			}
		}
	}
	slices.SortFunc(due, func(a, b *loadedWindow) int { return cmp.Or(cmp.Compare(a.pk, b.pk), cmp.Compare(a.start, b.start)) })
	var puts []*dynamodb.PutItemInput
	open := make([]openPart, len(due))
	for i, k := range due {
		some, last, err := w.parts(k)
		if err != nil {
			return err
		}
		puts, open[i] = append(puts, some...), last
	}
	if err := w.putAll(ctx, puts); err != nil {
		return err
	}
	for i, k := range due {
		k.open, k.fresh, k.since, k.waits = open[i], nil, nil, time.Time{}
		k.fact = nil // it would keep all facts of its item in memory as long as the window
	}
	return nil
}

// openPart is a stored part of a window that can still grow.
type openPart struct {
	name    string
	entries []window.Entry
}

// parts returns the requests that store the new entries of a window, together with those of its
// open part if they fit.
func (w *Worker) parts(k *loadedWindow) (puts []*dynamodb.PutItemInput, last openPart, err error) {
	rest := k.fresh
	if all := slices.Concat(k.open.entries, rest); partLen(all, smallPart) == len(all) {
		rest, last.name = all, k.open.name
	}
	for len(rest) > 0 {
		n := partLen(rest, fullPart)
		if last.entries = rest[:n]; last.name == "" {
			last.name = w.partName()
		}
		it, err := k.once.encode(k.fact, spanName(k.start), last.name, Window{Known: window.Encode(last.entries), Until: k.until})
		if err != nil {
			return nil, last, fmt.Errorf("window %s of %s: %w", spanName(k.start), k.pk, err)
		}
		puts = append(puts, &dynamodb.PutItemInput{TableName: ptr(w.table.Name()), Item: it})
		if rest = rest[n:]; len(rest) > 0 {
			last.name = ""
		}
	}
	return puts, last, nil
}

// partLen returns how many of the entries fit into a part of the given size, at least one. A part
// names each item only once.
func partLen(entries []window.Entry, most int) int {
	size, items := 0, make(map[string]struct{})
	for i := range entries {
		size += window.EntryBytes
		if _, named := items[entries[i].Item]; !named {
			items[entries[i].Item] = struct{}{}
			size += window.ItemBytes + len(entries[i].Item)
		}
		if size > most {
			return max(i, 1)
		}
	}
	return len(entries)
}

// partName returns a random name that no other part has: a put replaces an item with the same key.
func (w *Worker) partName() string { return fmt.Sprintf("%014x", uint64(w.o.Random()*(1<<53))) }

// putAll puts items without conditions.
func (w *Worker) putAll(ctx context.Context, puts []*dynamodb.PutItemInput) error {
	var failed error
	for i, err := range dynamo.PutAll(ctx, w.table.API(), puts, min(w.o.Writers, writersOfPart)) {
		if err != nil && requests.Transient(err) {
			w.requests.Repeated.Add(1)
			err = w.put(ctx, puts[i])
		}
		if err != nil {
			failed = cmp.Or(failed, err)
			continue
		}
		w.counts.writes.Add(1)
	}
	return failed
}

// carryOverWindows counts the entries that keep waiting, and evicts the least recently used windows
// beyond Options.Known.
func (w *Worker) carryOverWindows() {
	var idle []*loadedWindow
	of := make(map[*loadedWindow]*shard)
	for _, sh := range w.order {
		for _, k := range sh.windows {
			if k.since == nil {
				idle, of[k] = append(idle, k), sh
				continue
			}
			w.waiting++
			sh.waiting++
			if sh.held == nil || k.since.change.Seq.Compare(sh.held.change.Seq) < 0 {
				sh.held = &pendingChange{k.since, fact{nth: wholeChange}}
			}
		}
	}
	if w.known <= w.o.Known {
		return
	}
	slices.SortFunc(idle, func(a, b *loadedWindow) int {
		return cmp.Or(cmp.Compare(a.used, b.used), cmp.Compare(a.start, b.start))
	})
	for _, k := range idle {
		if w.known <= w.o.Known {
			return
		}
		delete(of[k].windows, k.spanKey)
		w.known -= k.set.Len()
	}
}

// moveTo moves a shard's position to a place that this worker has not reached by reading. The windows
// are then incomplete, so it forgets them.
func (w *Worker) moveTo(sh *shard, to Sequence) {
	if to == sh.position {
		return
	}
	sh.position = to
	w.forgetWindows(sh)
}

func (w *Worker) forgetWindows(sh *shard) {
	for _, k := range sh.windows {
		w.known -= k.set.Len()
	}
	sh.windows = nil
}
