package fold

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/fold/internal/requests"
	"github.com/onefold/onefold/table"
)

// errLost reports that a derived item changed between load and write.
var errLost = errors.New("fold: item changed meanwhile")

const maxConflicts = 16 // conflicts in a row before a flush gives up on an item

// flush makes the batch durable: items and windows first, then dead letters, then checkpoints.
//
// Unless all is set, items of folds with Hold may keep waiting, and the checkpoints with them.
// Nothing waits if the batch is full or a shard was read to its end, because the last checkpoint of
// a closed shard marks it finished.
//
// After an error the batch remains, with the written parts marked as done. flush must then succeed
// before the batch may grow.
func (w *Worker) flush(ctx context.Context, all bool) error {
	w.unsettled = true
	all = all || w.full() || slices.ContainsFunc(w.order, func(sh *shard) bool { return sh.end && sh.waiting > 0 })
	if w.waiting > 0 {
		if err := w.flushItems(ctx, w.dueDeltas(all)); err != nil {
			return fmt.Errorf("fold: flush: %w", err)
		}
		if err := w.flushWindows(ctx, all); err != nil {
			return fmt.Errorf("fold: flush: %w", err)
		}
		if err := w.callObservers(ctx); err != nil {
			return fmt.Errorf("fold: flush: %w", err)
		}
	}
	if err := w.flushDead(ctx); err != nil {
		return fmt.Errorf("fold: flush: %w", err)
	}
	if err := w.recordGaps(ctx); err != nil {
		return fmt.Errorf("fold: flush: %w", err)
	}
	w.carryOver()
	if err := w.advanceAll(ctx); err != nil {
		return fmt.Errorf("fold: flush: %w", err)
	}
	w.unsettled = false
	for _, sh := range w.order {
		if sh.held == nil {
			sh.mark.Settle(time.Time{})
		} else {
			sh.mark.Settle(sh.held.change.At)
		}
	}
	return nil
}

// dueDeltas returns the deltas that must be written now.
func (w *Worker) dueDeltas(all bool) (due []*delta) {
	now := w.o.Clock()
	for _, l := range w.pipelines {
		hold := l.fold().options.hold
		for _, d := range l.deltas() {
			if !d.waiting() {
				continue
			}
			if d.waitingSince.IsZero() {
				d.waitingSince = now
			}
			if all || now.Sub(d.waitingSince) >= hold {
				due = append(due, d)
			}
		}
	}
	return due
}

// carryOver drops what is written, and records which changes keep waiting and the first of them in each
// shard.
func (w *Worker) carryOver() {
	for _, sh := range w.order {
		sh.counted = sh.counted || sh.waiting > 0
		sh.waiting, sh.held = 0, nil
	}
	w.waiting, w.bytes, w.batchStarted = 0, 0, w.o.Clock()
	seen := make(map[*Change]bool)
	for _, l := range w.pipelines {
		if l.fold().options.hold <= 0 {
			l.reset()
			continue
		}
		l.dropWritten()
		for _, d := range l.deltas() {
			for _, k := range d.changes {
				if !seen[k.change] {
					seen[k.change] = true
					w.carryOverChange(k)
				}
			}
		}
	}
	for _, l := range w.pipelines {
		if logs := l.logs(); logs != nil {
			logs.trim(w.o.Clock())
		}
	}
	w.carryOverWindows()
}

// carryOverChange counts a change that keeps waiting.
func (w *Worker) carryOverChange(k *pendingChange) {
	w.waiting++
	w.bytes += k.change.bytes
	k.shard.waiting++
	if k.shard.held == nil || k.change.Seq.Compare(k.shard.held.change.Seq) < 0 {
		k.shard.held = k
	}
}

// clear drops the batch.
func (w *Worker) clear() {
	if w.waiting == 0 {
		return
	}
	w.waiting, w.bytes = 0, 0
	for _, l := range w.pipelines {
		l.reset()
	}
	for _, sh := range w.order {
		sh.waiting, sh.held = 0, nil
	}
}

// flushItems loads, merges and writes the given deltas. The checkpoints are read after the states,
// never before; see the package comment.
func (w *Worker) flushItems(ctx context.Context, open []*delta) error {
	rows, groups := w.splitLogged(open)
	unknown := w.attachStates(rows)
	if err := w.load(ctx, unknown); err != nil {
		return err
	}
	for _, d := range unknown {
		if d.held != nil {
			d.pipeline.cache().record(!d.held.exists)
		}
	}
	if err := each(w.o.Readers, len(groups), func(i int) error { return w.holdLogged(ctx, groups[i]) }); err != nil {
		return err
	}
	if err := errors.Join(w.readCheckpointsFor(ctx, open), w.readUnlistedCheckpoints(ctx, open)); err != nil {
		return err
	}
	w.counts.flushes.Add(1)
	if err := w.writeDeltas(ctx, rows); err != nil {
		return err
	}
	return each(w.o.Readers, len(groups), func(i int) error { return w.writeLog(ctx, groups[i]) })
}

// splitLogged separates deltas of items from deltas of logged states, and groups the latter by log.
func (w *Worker) splitLogged(open []*delta) (rows []*delta, groups []*logGroup) {
	var logged []*delta
	for _, d := range open {
		if d.pipeline.logs() == nil {
			rows = append(rows, d)
		} else {
			logged = append(logged, d)
		}
	}
	return rows, w.grouped(logged)
}

// attachStates gives deltas the states that are in memory and returns the deltas whose items must be
// loaded. For a fold that expects new items, the others are assumed absent as of now. Like states
// loaded now, they depend on checkpoints that are read afterwards.
func (w *Worker) attachStates(open []*delta) (unknown []*delta) {
	tick := w.tick.Add(1)
	guess := make(map[*cache]bool, len(w.pipelines))
	for _, l := range w.pipelines {
		share := l.fold().options.expectNew
		guess[l.cache()] = share > 0 && l.cache().expects(share)
	}
	for _, d := range open {
		c := d.pipeline.cache()
		if d.held == nil {
			d.held = c.take(d.id)
		}
		if d.held == nil && guess[c] && !d.existing {
			if w.hold(d, nil, tick); d.held != nil {
				d.held.guessed = true
			}
		}
		if d.held == nil && !d.done {
			unknown = append(unknown, d)
		}
	}
	return unknown
}

// writeDeltas writes deltas to their items: many at a time as long as nothing interferes, then one by
// one those that conflicted or were refused.
func (w *Worker) writeDeltas(ctx context.Context, open []*delta) error {
	at := max(w.o.Writers/writersOfPart, 1)
	part := min(max(len(open)/at, writersOfPart), maxPart)
	n := (len(open) + part - 1) / part
	return each(at, n, func(i int) error {
		some := open[i*part : min((i+1)*part, len(open))]
		if err := w.writeAll(ctx, some); err != nil {
			return err
		}
		if err := w.writeExisting(ctx, some); err != nil {
			return err
		}
		for _, d := range some {
			if err := w.writeDelta(ctx, d); err != nil {
				return err
			}
		}
		return nil
	})
}

// A flush is written in parts, each of at most maxPart deltas. writersOfPart of the concurrent
// writes belong to one part.
const (
	writersOfPart = 16
	maxPart       = 256
)

// pendingPut is a merged delta, the request that writes it, and the state to keep afterwards.
type pendingPut struct {
	d    *delta
	in   *dynamodb.PutItemInput
	next *stored
}

// writeAll tries to write every delta once. Deltas that fail are left to settle, which loads their
// items again and handles the cause.
func (w *Worker) writeAll(ctx context.Context, some []*delta) (err error) {
	puts, ins := make([]pendingPut, 0, len(some)), make([]*dynamodb.PutItemInput, 0, len(some))
	for _, d := range some {
		if d.done || d.held == nil {
			continue
		}
		in, next, perr := w.prepare(ctx, d)
		if perr != nil {
			d.dropState()
			switch p, ok := isPoison(perr); {
			case ok && p.change != nil:
				w.deadChange(d.pipeline, p.change, perr)
			case !ok && err == nil:
				err = perr
			}
		}
		if in != nil {
			puts, ins = append(puts, pendingPut{d, in, next}), append(ins, in)
		}
	}
	slept := false
	for i, perr := range dynamo.PutAll(ctx, w.table.API(), ins, min(w.o.Writers, writersOfPart)) {
		if dynamo.IsThrottle(perr) && requests.Transient(perr) {
			w.requests.Throttled.Add(1)
			if !slept { // once for all of them
				slept = true
				err = cmp.Or(err, w.o.Sleep(ctx, w.requests.Backoff(1)))
			}
			w.requests.Repeated.Add(1)
			perr = w.put(ctx, ins[i])
		}
		w.recordPut(puts[i], perr)
	}
	return err
}

// writeExisting loads the items that were assumed absent but exist, all together, and writes them.
func (w *Worker) writeExisting(ctx context.Context, some []*delta) error {
	var existing []*delta
	for _, d := range some {
		if d.existing && !d.done && d.held == nil {
			existing = append(existing, d)
		}
	}
	if len(existing) == 0 {
		return nil
	}
	if err := w.load(ctx, existing); err != nil {
		return err
	}
	if err := w.readCheckpointsFor(ctx, existing); err != nil {
		return err
	}
	return w.writeAll(ctx, existing)
}

// recordPut records the outcome of a put. Finding an item that was assumed absent is not a conflict
// with another writer.
func (w *Worker) recordPut(p pendingPut, err error) {
	guessed, refused := p.d.held != nil && p.d.held.guessed, dynamo.IsConditionFailed(err)
	switch {
	case err == nil:
		w.written(p.d, p.next)
	case refused && !guessed:
		w.counts.conflicts.Add(1)
	}
	if guessed && (err == nil || refused) {
		p.d.pipeline.cache().record(err == nil)
	}
	if err != nil {
		p.d.existing = p.d.existing || refused
		p.d.dropState()
	}
}

// dropState discards the state that the delta was merged into, because a merge may have modified it.
func (d *delta) dropState() { d.held, d.stale = nil, true }

// writeDelta writes one delta to its item, and retries after conflicts with other writers up to
// maxConflicts times.
func (w *Worker) writeDelta(ctx context.Context, d *delta) error {
	for conflicts := 0; !d.done; {
		if d.held == nil {
			if err := w.reload(ctx, d); err != nil || d.done {
				return err
			}
		}
		err := w.write(ctx, d)
		if err == nil {
			d.done = true
			return nil
		}
		if p, ok := isPoison(err); ok {
			if p.change == nil {
				w.deadItem(d, err)
				d.done, d.held = true, nil
				return nil
			}
			w.deadChange(d.pipeline, p.change, err)
			continue
		}
		d.dropState()
		if !errors.Is(err, errLost) || conflicts == maxConflicts {
			return fmt.Errorf("item %s %s: %w", stringOf(d.key[table.AttrPK]), stringOf(d.key[table.AttrSK]), err)
		}
		conflicts++
		w.counts.conflicts.Add(1)
		if err := w.o.Sleep(ctx, w.requests.Backoff(min(conflicts, 5))); err != nil {
			return err
		}
	}
	return nil
}

// write merges a delta into its item as last seen and writes it on condition that the item is still
// the same.
func (w *Worker) write(ctx context.Context, d *delta) error {
	in, next, err := w.prepare(ctx, d)
	if err != nil || in == nil {
		return err
	}
	if err := w.put(ctx, in); err != nil {
		return refusedOrLost(err)
	}
	w.written(d, next)
	return nil
}

// put sends one put, with retries.
func (w *Worker) put(ctx context.Context, in *dynamodb.PutItemInput) error {
	return w.requests.Retry(ctx, func() error {
		_, err := w.table.API().PutItem(ctx, in)
		return err
	})
}

// prepare merges a delta into its item as last seen. It returns the request that writes the result
// on condition that the item is still the same, and the state to keep afterwards. Both are nil if
// the item has counted all of the delta already.
func (w *Worker) prepare(ctx context.Context, d *delta) (*dynamodb.PutItemInput, *stored, error) {
	s := d.held
	if err := w.filter(d, s); err != nil {
		return nil, nil, err
	}
	if len(d.changes) == 0 {
		d.pipeline.cache().put(d.id, s)
		d.done = true
		return nil, nil, nil
	}
	removable, err := d.pipeline.merge(ctx, s.state, d)
	d.stale = true // the merge may have kept parts of it
	if p, ok := isPoison(err); ok && p.partial {
		w.deadItem(d, err)
	} else if err != nil {
		return nil, nil, err
	}
	it, next, err := w.encode(d, s, removable)
	if err != nil {
		return nil, nil, err
	}
	in := &dynamodb.PutItemInput{TableName: ptr(w.table.Name()), Item: it}
	onVersion(in, s)
	return in, next, nil
}

// written records that a delta is in its item.
func (w *Worker) written(d *delta, next *stored) {
	d.done = true
	w.counts.writes.Add(1)
	d.pipeline.cache().put(d.id, next)
}

// refusedOrLost classifies why a put failed: errLost for a conflict, a poisonError for an item that
// DynamoDB rejects.
func refusedOrLost(err error) error {
	switch {
	case dynamo.IsConditionFailed(err):
		return errLost
	case dynamo.Code(err) == dynamo.CodeValidation:
		return &poisonError{err: err}
	}
	return err
}

// filter removes the changes from the delta that the item has counted already.
func (w *Worker) filter(d *delta, s *stored) error {
	rebuild := d.stale
	for _, sp := range d.spans {
		seq, ok := s.effective(sp.shard)
		if !ok {
			return fmt.Errorf("fold: checkpoint of shard %s was read before the item", sp.shard.id)
		}
		rebuild = rebuild || seq.Compare(sp.first) >= 0
	}
	if !rebuild {
		return nil
	}
	w.counts.rebuilt.Add(1)
	return d.pipeline.rebuild(d, func(k *pendingChange) bool {
		seq, _ := s.effective(k.shard)
		if k.change.Seq.Compare(seq) > 0 {
			return true
		}
		w.counts.skipped.Add(1)
		return false
	})
}

// encode returns the item to write and the state to keep afterwards.
func (w *Worker) encode(d *delta, s *stored, removable bool) (table.Item, *stored, error) {
	now := w.o.Clock()
	next := &stored{state: s.state, exists: true, version: s.version + 1, marks: w.nextMarks(d, s), loaded: s.loaded}
	if s.version == 0 {
		next.version = firstVersion(now)
	}
	var it table.Item
	var err error
	if removable {
		it = zeroItem(d.key, table.Removed)
		it[table.AttrTTL] = number(now.Add(keepTombstone).Unix())
		next.state, err = d.pipeline.decode(d, nil)
	} else if it, err = d.pipeline.encode(s.state); err == nil && requests.ID(it) != d.id {
		err = &poisonError{err: errors.New("fold: merge or finish changed the key of the state")}
	}
	if err != nil {
		return nil, nil, err
	}
	it[AttrVersion], it[AttrMarks] = number(next.version), next.marks.attribute()
	return it, next, nil
}

// firstVersion returns the version of a new item: the time in milliseconds. So if an item is
// deleted, for instance by TTL, and created again, it never gets a version that some worker still
// holds in memory.
func firstVersion(now time.Time) int64 { return max(now.UnixMilli(), 1) }

// nextMarks returns the item's marks including the delta, without those that checkpoints make
// redundant.
func (w *Worker) nextMarks(d *delta, s *stored) marks {
	m := make(marks, len(d.spans)+1)
	for shard, seq := range s.marks {
		if known, ok := w.knownCheckpoint(shard); !ok || seq.Compare(known) > 0 {
			m[shard] = seq
		}
	}
	for _, sp := range d.spans {
		m[sp.shard.id] = maxSequence(m[sp.shard.id], sp.last)
	}
	return m
}

// knownCheckpoint returns the checkpoint of a shard as last seen, if this worker has seen it.
func (w *Worker) knownCheckpoint(shard string) (Sequence, bool) {
	if sh := w.shards[shard]; sh != nil {
		seq, _ := sh.durable()
		return seq, true
	}
	seq, ok := w.unlisted[shard]
	return seq, ok
}

// onVersion makes a put conditional on the version that the state was merged from.
func onVersion(in *dynamodb.PutItemInput, s *stored) {
	switch {
	case !s.exists:
		in.ConditionExpression = ptr("attribute_not_exists(#pk)")
		in.ExpressionAttributeNames = map[string]string{"#pk": table.AttrPK}
	case s.version == 0:
		in.ConditionExpression = ptr("attribute_not_exists(#fv)")
		in.ExpressionAttributeNames = map[string]string{"#fv": AttrVersion}
	default:
		in.ConditionExpression = ptr("#fv = :fv")
		in.ExpressionAttributeNames = map[string]string{"#fv": AttrVersion}
		in.ExpressionAttributeValues = map[string]types.AttributeValue{":fv": number(s.version)}
	}
}

func ptr[T any](v T) *T { return &v }
