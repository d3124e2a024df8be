package oracle

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Key is a key attribute with the descriptor of its type. The zero value means none.
type Key struct{ Name, Type string }

// Index is a secondary index.
type Index struct {
	Name        string
	Local       bool
	Hash, Range Key
	All         bool     // projects all attributes
	Include     []string // projected attributes besides keys
}

// Record is a change in a stream.
type Record struct {
	Event    string
	Key      Item
	Old, New Item
}

// Table is a table: items by the text of their keys, and its stream records.
type Table struct {
	Name        string
	Hash, Range Key
	Indexes     []Index
	Items       map[string]Item
	Records     []Record
}

// Outcome is the response to a request. Code is "" for success, otherwise that of the error.
type Outcome struct {
	Code       string
	Reasons    []string // for a cancelled transaction, one per action
	Told       []Item   // items returned with failed conditions, one per action
	Attributes Item
	Units      map[string]float64 // consumed capacity by index; "" is the table

	// Tables is the consumed capacity of a request on several tables, by table name.
	Tables map[string]map[string]float64
}

// Error codes.
const (
	Invalid   = "ValidationException"
	Failed    = "ConditionalCheckFailedException"
	Cancelled = "TransactionCanceledException"
	Mismatch  = "IdempotentParameterMismatchException"
	Duplicate = "DuplicateItemException"

	reasonInvalid = "ValidationError"
	reasonFailed  = "ConditionalCheckFailed"
	reasonNone    = "None"
)

// keys returns the table's key attributes.
func (t *Table) keys() []Key {
	if t.Range == (Key{}) {
		return []Key{t.Hash}
	}
	return []Key{t.Hash, t.Range}
}

// KeyOf returns the key attributes of an item.
func (t *Table) KeyOf(it Item) Item {
	key := Item{}
	for _, k := range t.keys() {
		key[k.Name] = it[k.Name]
	}
	return key
}

// At returns the item with the same key as it, or nil.
func (t *Table) At(it Item) Item { return t.Items[ItemText(t.KeyOf(it))] }

// fits reports whether a value is a valid key: of the right type, not empty, within the size limit.
func (k Key) fits(v types.AttributeValue, bound int) bool {
	if v == nil || kind(v) != k.Type {
		return false
	}
	return k.Type == "N" || sizeOf(v) > 0 && sizeOf(v) <= bound
}

// keyed reports whether an item has a valid table key.
func (t *Table) keyed(it Item) bool {
	return t.Hash.fits(it[t.Hash.Name], maxHash) && (t.Range == Key{} || t.Range.fits(it[t.Range.Name], maxRange))
}

// indexable reports whether the index key attributes of an item, as far as present, are valid.
func (t *Table) indexable(it Item) bool {
	for _, x := range t.Indexes {
		if v := it[x.Hash.Name]; v != nil && !x.Hash.fits(v, maxHash) {
			return false
		}
		if v := it[x.Range.Name]; v != nil && !x.Range.fits(v, maxRange) {
			return false
		}
	}
	return true
}

// Entry returns an index's entry for an item, or nil.
func (t *Table) Entry(x Index, it Item) Item {
	if it == nil || it[x.Hash.Name] == nil || x.Range.Name != "" && it[x.Range.Name] == nil {
		return nil
	}
	if x.All {
		return it
	}
	e := t.KeyOf(it)
	for _, name := range append([]string{x.Hash.Name, x.Range.Name}, x.Include...) {
		if v := it[name]; v != nil {
			e[name] = v
		}
	}
	return e
}

// scalarOnly reports whether no path accesses parts of a key attribute of the table or an index.
func (t *Table) scalarOnly(paths []Path) bool {
	return !slices.ContainsFunc(paths, func(p Path) bool {
		if len(p) == 1 {
			return false
		}
		return slices.ContainsFunc(t.keys(), func(k Key) bool { return k.Name == p.root() }) ||
			slices.ContainsFunc(t.Indexes, func(x Index) bool { return x.Hash.Name == p.root() || x.Range.Name == p.root() })
	})
}

// checkKeys reports whether the write is valid for the table's keys, regardless of the item.
func (t *Table) checkKeys(w *Write) bool {
	if !t.keyed(w.Item) || !t.scalarOnly(w.condition().paths()) {
		return false
	}
	if w.Verb == "Put" {
		return t.indexable(w.Item) && Size(w.Item) <= maxItem
	}
	if len(w.Item) != len(t.keys()) {
		return false
	}
	for _, a := range w.Update {
		if !t.scalarOnly(append(a.Term.paths(), a.Path)) {
			return false
		}
		if slices.ContainsFunc(t.keys(), func(k Key) bool { return k.Name == a.Path.root() }) {
			return false
		}
	}
	return true
}

// next returns the item after the write, or an error code.
func (t *Table) next(w *Write, old Item) (Item, string) {
	if cond := w.condition(); cond != nil && !cond.Holds(old) {
		return nil, Failed
	}
	switch {
	case w.Verb == "Put":
		return w.Item, ""
	case w.Verb == "Delete":
		return nil, ""
	case w.Verb == "Check":
		return old, ""
	case old == nil && !w.Update.creates():
		if _, err := w.Update.apply(nil, w.Item); err != nil {
			return nil, Invalid
		}
		return nil, ""
	}
	it, err := w.Update.apply(old, w.Item)
	if err != nil || !t.indexable(it) || Size(it) > maxItem {
		return nil, Invalid
	}
	return it, ""
}

// put stores the item after a write, adds the stream record, and returns the consumed capacity.
func (t *Table) put(w *Write, next Item) map[string]float64 {
	old := t.At(w.Item)
	units := map[string]float64{"": max(written(old), written(next))}
	for _, x := range t.Indexes {
		was, is := t.Entry(x, old), t.Entry(x, next)
		switch {
		case ItemText(was) == ItemText(is):
		case was == nil:
			units[x.Name] = written(is)
		case is == nil:
			units[x.Name] = written(was)
		case Text(was[x.Hash.Name]) != Text(is[x.Hash.Name]) || Text(was[x.Range.Name]) != Text(is[x.Range.Name]):
			units[x.Name] = written(was) + written(is)
		default:
			units[x.Name] = max(written(was), written(is))
		}
	}
	if ItemText(old) == ItemText(next) {
		return units
	}
	key := t.KeyOf(w.Item)
	event := "MODIFY"
	switch {
	case old == nil:
		event = "INSERT"
	case next == nil:
		event = "REMOVE"
	}
	t.Records = append(t.Records, Record{Event: event, Key: key, Old: old, New: next})
	if t.Items[ItemText(key)] = next; next == nil {
		delete(t.Items, ItemText(key))
	}
	return units
}

// written returns the cost of writing an item: one unit per started KB, at least one.
func written(it Item) float64 { return float64(max(1, (Size(it)+1023)/1024)) }

// Do performs a PutItem, UpdateItem or DeleteItem.
func (t *Table) Do(w *Write) Outcome {
	if !w.valid() || !w.returnable() || !t.checkKeys(w) {
		return Outcome{Code: Invalid}
	}
	old := t.At(w.Item)
	it, code := t.next(w, old)
	if code != "" {
		out := Outcome{Code: code, Told: []Item{nil}}
		if w.Tell && code == Failed {
			out.Told[0] = old
		}
		return out
	}
	return Outcome{Attributes: w.returned(old, it), Units: t.put(w, it)}
}

// Batch performs a BatchWriteItem, atomically, as the engine promises.
func Batch(writes []*Write) Outcome {
	if len(writes) > maxBatch || repeats(writes) {
		return Outcome{Code: Invalid}
	}
	for _, w := range writes {
		if !w.valid() || !w.On.checkKeys(w) {
			return Outcome{Code: Invalid}
		}
	}
	var out Outcome
	for _, w := range writes {
		it, _ := w.On.next(w, nil)
		out.add(w.On, w.On.put(w, it), 1)
	}
	return out
}

// repeats reports whether two writes are for the same item. Writes with invalid keys are ignored.
func repeats(writes []*Write) bool {
	seen := map[string]bool{}
	for _, w := range writes {
		if !w.On.checkKeys(w) {
			continue
		}
		key := w.On.Name + ItemText(w.On.KeyOf(w.Item))
		if seen[key] {
			return true
		}
		seen[key] = true
	}
	return false
}

// add adds consumed capacity. The table's own capacity is multiplied by times.
func (o *Outcome) add(t *Table, units map[string]float64, times float64) {
	if o.Tables == nil {
		o.Tables = map[string]map[string]float64{}
	}
	if o.Tables[t.Name] == nil {
		o.Tables[t.Name] = map[string]float64{}
	}
	for name, n := range units {
		if name == "" {
			n *= times
		}
		o.Tables[t.Name][name] += n
	}
}

// transactable reports whether the write is valid in a transaction, regardless of table and item.
func (w *Write) transactable() bool {
	switch w.Verb {
	case "Put":
		return w.valid() && Size(w.Item) <= maxItem
	case "Check":
		return w.valid() && w.condition() != nil
	case "Update":
		return w.valid() && w.Update != nil
	}
	return w.valid()
}

// Transactable reports whether writes form a valid transaction, regardless of the items:
// "TransactWriteItems" in the API Reference.
func Transactable(writes []*Write) bool {
	size := 0
	for _, w := range writes {
		size += Size(w.Item)
	}
	return len(writes) <= maxActions && size <= maxTransaction && !repeats(writes) &&
		!slices.ContainsFunc(writes, func(w *Write) bool { return !w.transactable() })
}

// Keyed reports whether the writes are valid for their tables' keys, regardless of the items.
func Keyed(writes []*Write) bool {
	return !slices.ContainsFunc(writes, func(w *Write) bool { return !w.On.checkKeys(w) })
}

// Transact performs a TransactWriteItems.
func Transact(writes []*Write) Outcome {
	if !Transactable(writes) {
		return Outcome{Code: Invalid}
	}
	cancelled := Outcome{Code: Cancelled, Told: make([]Item, len(writes))}
	next, failed := make([]Item, len(writes)), false
	for i, w := range writes {
		reason, code, old := reasonNone, Invalid, w.On.At(w.Item)
		if w.On.checkKeys(w) {
			next[i], code = w.On.next(w, old)
		}
		switch code {
		case Invalid:
			reason = reasonInvalid
		case Failed:
			reason = reasonFailed
			if w.Tell {
				cancelled.Told[i] = old
			}
		}
		failed = failed || code != ""
		cancelled.Reasons = append(cancelled.Reasons, reason)
	}
	if failed {
		return cancelled
	}
	var out Outcome
	for i, w := range writes {
		if w.Verb == "Check" {
			out.add(w.On, map[string]float64{"": written(next[i])}, 2)
			continue
		}
		out.add(w.On, w.On.put(w, next[i]), 2)
	}
	return out
}

// Again returns the response to a repeated transaction with the same token. It costs as much as
// reading the items: "Idempotency" in the Developer Guide.
func Again(writes []*Write) Outcome {
	var out Outcome
	for _, w := range writes {
		out.add(w.On, map[string]float64{"": float64(max(1, (Size(w.On.At(w.Item))+4095)/4096))}, 2)
	}
	return out
}

// Entries returns all entries of an index, by the text of the items' keys.
func (t *Table) Entries(x Index) map[string]Item {
	out := map[string]Item{}
	for key, it := range maps.All(t.Items) {
		if e := t.Entry(x, it); e != nil {
			out[key] = e
		}
	}
	return out
}
