package foldsim

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
)

// A World is one table with its change stream, and the clock. Only one goroutine runs at a time, so
// it needs no locks.
type World struct {
	// Rand is the only source of randomness in the run.
	Rand *rand.Rand

	now     time.Time
	faults  bool // requests may fail
	items   map[string]table.Item
	shards  []*shard
	seq     uint64
	storm   bool // nearly all requests fail
	known   int
	spoil   func(table.Item)
	history []Write
	sources map[string]bool // IDs of all source items

	cursors map[string]*cursor // progress of Lambda-like deliveries
}

// A Write is one write of a source item.
type Write struct {
	Key  table.Item // at least pk and sk
	Item table.Item // nil for a removal

	Expired bool // a deletion by TTL
}

// shard is a part of the stream: the changes of keys whose hash is in [from, to).
type shard struct {
	id, parent string
	from, to   uint64
	closed     bool
	trimmed    bool
	changes    []fold.Change
	times      []time.Time // exact commit times; the stream reports whole seconds
}

// cursor is the position up to which an event source has delivered a shard.
type cursor struct {
	after fold.Sequence
	done  bool
}

func newWorld(r *rand.Rand) *World {
	w := &World{
		Rand: r, now: time.Date(2026, 5, 12, 14, 0, 0, 0, time.UTC),
		items: make(map[string]table.Item), sources: make(map[string]bool), cursors: make(map[string]*cursor),
		seq: []uint64{1, 5, 93, 960}[r.IntN(4)], // so that sequence numbers get longer during the run
	}
	n := uint64(1 + r.IntN(3))
	for i := range n {
		w.addShard("", i<<32/n, (i+1)<<32/n)
	}
	return w
}

func (w *World) addShard(parent string, from, to uint64) {
	w.shards = append(w.shards, &shard{id: fmt.Sprintf("shard-%03d", len(w.shards)), parent: parent, from: from, to: to})
}

// Now returns the time in the world.
func (w *World) Now() time.Time { return w.now }

// Put writes a source item.
func (w *World) Put(it table.Item) { w.source(it, it) }

// Delete removes a source item.
func (w *World) Delete(key table.Item) { w.source(key, nil) }

func (w *World) source(key, it table.Item) {
	w.history = append(w.history, Write{Key: key, Item: it})
	w.sources[idOf(key)] = true
	w.commit(key, it, false)
}

// Get returns a source item, nil if there is none.
func (w *World) Get(key table.Item) table.Item { return w.items[idOf(key)] }

// History returns all writes of source items in order.
func (w *World) History() []Write { return w.history }

// Derived returns the live items of an entity, in the order of their keys.
func (w *World) Derived(entity string) []table.Item {
	var out []table.Item
	for _, id := range w.sorted(func(it table.Item) bool { return stringOf(it[table.AttrEntity]) == entity }) {
		out = append(out, w.items[id])
	}
	return out
}

// sorted returns the IDs of the wanted items, in order.
func (w *World) sorted(wanted func(table.Item) bool) (ids []string) {
	for id, it := range w.items {
		if wanted(it) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func idOf(key table.Item) string {
	return stringOf(key[table.AttrPK]) + "\xff" + stringOf(key[table.AttrSK])
}

func stringOf(av types.AttributeValue) string {
	s, ok := av.(*types.AttributeValueMemberS)
	if !ok {
		return ""
	}
	return s.Value
}

// commit writes an item and its stream record. As in DynamoDB, a write that changes nothing makes
// no record.
func (w *World) commit(key, it table.Item, expired bool) {
	id := idOf(key)
	old := w.items[id]
	if it == nil && old == nil || equal(old, it) {
		return
	}
	w.seq += 1 + w.Rand.Uint64N(3)
	c := fold.Change{Seq: fold.Sequence(strconv.FormatUint(w.seq, 10)), At: w.now.Truncate(time.Second), Old: old, New: it, Expired: expired}
	switch {
	case it == nil:
		c.Kind = fold.Remove
		delete(w.items, id)
	case old == nil:
		c.Kind = fold.Insert
		w.items[id] = it
	default:
		c.Kind = fold.Modify
		w.items[id] = it
	}
	sh := w.openShard(stringOf(key[table.AttrPK]))
	c.Shard = sh.id
	sh.changes, sh.times = append(sh.changes, c), append(sh.times, w.now)
}

func equal(a, b table.Item) bool {
	if len(a) != len(b) {
		return false
	}
	for name, v := range a {
		s, ok := v.(*types.AttributeValueMemberS)
		o, same := b[name].(*types.AttributeValueMemberS)
		if ok != same || ok && s.Value != o.Value || !ok && !reflect.DeepEqual(v, b[name]) {
			return false
		}
	}
	return true
}

func (w *World) openShard(pk string) *shard {
	h := fnv.New32a()
	h.Write([]byte(pk)) //nolint:errcheck // a hash never fails
	at := uint64(h.Sum32())
	for _, sh := range w.shards {
		if !sh.closed && sh.from <= at && at < sh.to {
			return sh
		}
	}
	panic("foldsim: no shard is open for " + pk)
}

// roll closes a random open shard and opens one child, or two that divide its keys.
func (w *World) roll() {
	open := slices.DeleteFunc(slices.Clone(w.shards), func(sh *shard) bool { return sh.closed })
	sh := open[w.Rand.IntN(len(open))]
	sh.closed = true
	if middle := (sh.from + sh.to) / 2; w.Rand.IntN(3) == 0 && middle > sh.from {
		w.addShard(sh.id, sh.from, middle)
		w.addShard(sh.id, middle, sh.to)
		return
	}
	w.addShard(sh.id, sh.from, sh.to)
}

// trim drops some shards that are completely folded, as a stream does after a day.
func (w *World) trim() {
	for _, sh := range w.shards {
		if !sh.closed || sh.trimmed || w.Rand.IntN(2) == 0 {
			continue
		}
		sh.trimmed = w.checkpoint(sh).Done
	}
}

func (w *World) checkpoint(sh *shard) fold.Checkpoint {
	key, err := fold.Checkpoints.Key(fold.CheckpointKey{Group: group, Shard: sh.id})
	if err != nil {
		panic(err)
	}
	it := w.items[idOf(key)]
	if it == nil {
		return fold.Checkpoint{}
	}
	c, err := fold.Checkpoints.Decode(it)
	if err != nil {
		panic(err)
	}
	return c
}

// counted reports whether the checkpoints cover all changes that the folds read.
func (w *World) counted(folds []*fold.Fold) bool {
	for sh, tip := range w.tips(folds) {
		if tip.Compare(fold.Sequence(w.checkpoint(sh).Position)) > 0 {
			return false
		}
	}
	return true
}

// tips returns, for each shard still kept, the last change that the folds read.
func (w *World) tips(folds []*fold.Fold) map[*shard]fold.Sequence {
	var read []string
	for _, f := range folds {
		read = append(read, f.From()...)
	}
	tips := make(map[*shard]fold.Sequence)
	for _, sh := range w.shards {
		if sh.trimmed {
			continue
		}
		for _, c := range sh.changes {
			if c.Expired {
				continue // folds do not see expired items
			}
			if slices.Contains(read, stringOf(c.New[table.AttrEntity])) || slices.Contains(read, stringOf(c.Old[table.AttrEntity])) {
				tips[sh] = c.Seq
			}
		}
	}
	return tips
}

// expire deletes expired items, as DynamoDB does.
func (w *World) expire() {
	for _, id := range w.sorted(func(it table.Item) bool { return table.Expired(it, w.now) }) {
		it := w.items[id]
		if w.sources[id] {
			w.history = append(w.history, Write{Key: it, Expired: true})
		}
		w.commit(it, nil, true)
	}
}

// States returns the derived states of a fold in the order of their keys: its live items, or the
// states in its log.
func (w *World) States(f *fold.Fold) ([]table.Item, error) { return f.Latest(w.Derived(f.Into())) }

// derived returns the items derived by folds as text, by key, without attributes of the runtime.
func (w *World) derived(folds []*fold.Fold) (map[string]string, error) {
	out := make(map[string]string)
	for _, f := range folds {
		states, err := w.States(f)
		if err != nil {
			return nil, err
		}
		for _, it := range states {
			out[idOf(it)] = Describe(it)
		}
	}
	return out, nil
}

// Describe returns an item as text, without attributes of the runtime.
func Describe(it table.Item) string {
	var b bytes.Buffer
	for _, name := range slices.SortedFunc(maps.Keys(it), cmp.Compare[string]) {
		if name != fold.AttrVersion && name != fold.AttrMarks {
			fmt.Fprintf(&b, " %s=%s", name, show(it[name]))
		}
	}
	return b.String()
}

func show(av types.AttributeValue) string {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return strconv.Quote(v.Value)
	case *types.AttributeValueMemberN:
		return v.Value
	case *types.AttributeValueMemberB:
		return fmt.Sprintf("%x", v.Value)
	case *types.AttributeValueMemberM:
		return "{" + Describe(v.Value) + " }"
	case *types.AttributeValueMemberL:
		var b bytes.Buffer
		for _, e := range v.Value {
			fmt.Fprintf(&b, " %s", show(e))
		}
		return "[" + b.String() + " ]"
	}
	return fmt.Sprintf("%T%+v", av, av)
}
