package fold

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/fold/internal/requests"
	"github.com/onefold/onefold/table"
)

// storedState is the last entry of a state in the log, and the number of its page.
type storedState struct {
	entry
	number int
}

// savedLog is a log as stored.
type savedLog struct {
	partition types.AttributeValue
	states    map[string]storedState
	next      int
	last      any
}

// readLog reads the log that a state belongs to. It calls damaged for each page that cannot be
// read; states in such a page are missing in the result, or have their previous values.
func (l *StateLog[S, K, P, PK]) readLog(ctx context.Context, t *table.Table, s *S, damaged func(error)) (*savedLog, error) {
	e := l.erased()
	in, err := l.pagesOf(t, s)
	if err != nil {
		return nil, err
	}
	lg := &savedLog{partition: in.ExpressionAttributeValues[":pk"], states: make(map[string]storedState)}
	for {
		out, err := t.API().Query(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, it := range out.Items {
			if err := l.addPage(lg, e, it, table.Expired(it, t.Now())); err != nil {
				damaged(err)
			}
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
			return lg, nil
		}
	}
}

// addPage applies one page to the log. An expired page only advances the number.
func (l *StateLog[S, K, P, PK]) addPage(lg *savedLog, e *erasedLog, it table.Item, expired bool) error {
	page, body, err := e.decode(it)
	if err != nil {
		return fmt.Errorf("%w %s: %w", ErrPage, requests.ID(it), err)
	}
	if lg.last, lg.next = page, body.Number+1; expired {
		return nil
	}
	entries, err := decodePage(body.States, entrySK, entryIs, entryHas, entryMarks)
	if err != nil {
		return l.damaged(page.(*P), err)
	}
	for _, e := range entries {
		lg.states[e.SK] = storedState{e, body.Number}
	}
	return nil
}

// Load reads states by key, consistently, as fold.Load reads items. Results are in the order of
// keys; an absent state is the zero state with its key. Load reads every log that the states belong
// to. It calls damaged for each page that cannot be read; states in that page are then absent or
// have their previous values.
func (l *StateLog[S, K, P, PK]) Load(ctx context.Context, t *table.Table, keys []K, damaged func(error)) ([]Stored[S], error) {
	out := make([]Stored[S], len(keys))
	logs := make(map[string]*savedLog)
	for i, k := range keys {
		key, lg, err := l.logOf(ctx, t, k, logs, damaged)
		if err != nil {
			return nil, fmt.Errorf("fold: load %s: %w", l.states.Name(), err)
		}
		if out[i], err = l.stored(key, lg); err != nil {
			return nil, fmt.Errorf("fold: load %s: %w", l.states.Name(), err)
		}
	}
	return out, nil
}

// logOf returns the log of a state, and reads it unless logs contains it.
func (l *StateLog[S, K, P, PK]) logOf(ctx context.Context, t *table.Table, k K, logs map[string]*savedLog, damaged func(error)) (key table.Item, lg *savedLog, err error) {
	s, key, err := l.zero(k)
	if err != nil {
		return nil, nil, err
	}
	id, err := l.logID(k)
	if err != nil {
		return nil, nil, err
	}
	if logs[id] == nil {
		if logs[id], err = l.readLog(ctx, t, s, damaged); err != nil {
			return nil, nil, err
		}
	}
	return key, logs[id], nil
}

// stored returns a state from a log that was read.
func (l *StateLog[S, K, P, PK]) stored(key table.Item, lg *savedLog) (s Stored[S], err error) {
	if err = l.states.DecodeInto(zeroItem(key, l.states.Name()), &s.State); err != nil {
		return s, err
	}
	have, there := lg.states[stringOf(key[table.AttrSK])]
	if !there {
		return s, nil
	}
	s.Version, s.Removed = int64(have.number)+1, !have.Has
	if have.Has {
		err = l.def.Read([]byte(have.Is), &s.State)
	}
	return s, err
}

// All yields the states of the log that the state like belongs to; only the key of like matters.
// Removed states are omitted. For damaged, see Load.
func (l *StateLog[S, K, P, PK]) All(ctx context.Context, t *table.Table, like S, damaged func(error)) iter.Seq2[Stored[S], error] {
	return func(yield func(Stored[S], error) bool) {
		lg, err := l.readLog(ctx, t, &like, damaged)
		if err != nil {
			yield(Stored[S]{}, fmt.Errorf("fold: read %s: %w", l.states.Name(), err))
			return
		}
		for sk, have := range lg.states {
			if !have.Has {
				continue
			}
			s, err := l.stored(have.entry.keyIn(lg.partition), lg)
			if err != nil {
				err = fmt.Errorf("fold: read %s %s: %w", l.states.Name(), sk, err)
			}
			if !yield(s, err) || err != nil {
				return
			}
		}
	}
}

// A Replacement describes a conditional change of a state: State replaces the state with the given
// key if its version still is Version, 0 for a state that must not exist. A nil State removes it.
// See ReplaceState.
type Replacement[S any, K comparable] struct {
	Key     K
	State   *S
	Version int64
	Silent  bool // for a removal: hide it from folds that read the changes
}

// replaceTries limits how often a log is read again because another writer appended a page.
const replaceTries = 16

// Replace overwrites states that still have the expected versions, and returns the keys of those
// that do not. States keep their marks, and folds that read the log see the changes. The states of
// one log are replaced in as few pages as possible. Errors: table.ErrConflict if others kept
// appending pages through 16 attempts. For damaged, see Load.
func (l *StateLog[S, K, P, PK]) Replace(ctx context.Context, t *table.Table, all []Replacement[S, K], damaged func(error)) (changed []K, err error) {
	byLog := make(map[string][]Replacement[S, K])
	var order []string
	for _, r := range all {
		id, err := l.logID(r.Key)
		if err != nil {
			return nil, fmt.Errorf("fold: replace %s: %w", l.states.Name(), err)
		}
		if byLog[id] == nil {
			order = append(order, id)
		}
		byLog[id] = append(byLog[id], r)
	}
	for _, id := range order {
		some, err := l.replace(ctx, t, byLog[id], damaged)
		if err != nil {
			return changed, fmt.Errorf("fold: replace %s: %w", l.states.Name(), err)
		}
		changed = append(changed, some...)
	}
	return changed, nil
}

// zero returns the zero state with the given key, and the encoded key.
func (l *StateLog[S, K, P, PK]) zero(k K) (*S, table.Item, error) {
	key, err := l.states.Key(k)
	if err != nil {
		return nil, nil, err
	}
	s := new(S)
	return s, key, l.states.DecodeInto(zeroItem(key, l.states.Name()), s)
}

// logID identifies the log of a state by its first page.
func (l *StateLog[S, K, P, PK]) logID(k K) (string, error) {
	s, _, err := l.zero(k)
	if err != nil {
		return "", err
	}
	first, err := l.pages.Key(l.pages.KeyOf(ptr(l.open(s, 0, nil))))
	return requests.ID(first), err
}

// replace is Replace for a single log.
func (l *StateLog[S, K, P, PK]) replace(ctx context.Context, t *table.Table, some []Replacement[S, K], damaged func(error)) (changed []K, err error) {
	for range replaceTries {
		like, _, err := l.zero(some[0].Key)
		if err != nil {
			return nil, err
		}
		lg, err := l.readLog(ctx, t, like, damaged)
		if err != nil {
			return nil, err
		}
		if some, changed = l.unchanged(lg, some, changed); len(some) == 0 {
			return changed, nil
		}
		err = l.appendPages(ctx, t, lg, like, &some)
		if err == nil || !dynamo.IsConditionFailed(err) {
			return changed, err
		}
	}
	return nil, table.ErrConflict
}

// unchanged separates replacements whose states still have the expected versions from the keys of
// the others, which it appends to before.
func (l *StateLog[S, K, P, PK]) unchanged(lg *savedLog, some []Replacement[S, K], before []K) (left []Replacement[S, K], changed []K) {
	for _, r := range some {
		version := int64(0)
		if key, err := l.states.Key(r.Key); err == nil {
			if have, there := lg.states[stringOf(key[table.AttrSK])]; there {
				version = int64(have.number) + 1
			}
		}
		if version == r.Version {
			left = append(left, r)
		} else {
			before = append(before, r.Key)
		}
	}
	return left, before
}

// appendPages appends replacements to their log, and removes those that are stored from some, so
// that a retry does not repeat them.
func (l *StateLog[S, K, P, PK]) appendPages(ctx context.Context, t *table.Table, lg *savedLog, like *S, some *[]Replacement[S, K]) error {
	entries := make([]entry, len(*some))
	for i, r := range *some {
		key, err := l.states.Key(r.Key)
		if err != nil {
			return err
		}
		sk := stringOf(key[table.AttrSK])
		have := lg.states[sk]
		entries[i] = entry{SK: sk, Was: have.Is, Had: have.Has, Counts: have.Counts}
		switch {
		case r.State != nil:
			entries[i].Is, entries[i].Has = string(l.def.Append(nil, r.State)), true
		case r.Silent:
			entries[i].Was, entries[i].Had = "", false
		}
	}
	for part, err := range pagesOf(entries) {
		if err != nil {
			return err
		}
		n := len(part.Facts)
		if err := l.appendPage(ctx, t, lg, like, part.Facts, (*some)[:n], part.Body); err != nil {
			return err
		}
		*some = (*some)[n:]
	}
	return nil
}

// appendPage puts the next page of a log, which contains the given entries.
func (l *StateLog[S, K, P, PK]) appendPage(ctx context.Context, t *table.Table, lg *savedLog, like *S, entries []entry, some []Replacement[S, K], body []byte) error {
	last, _ := lg.last.(*P) // nil for the first
	p := l.open(like, lg.next, last)
	for i := range entries {
		before, err := l.stateOf(entries[i].keyIn(lg.partition), entries[i].before())
		if err != nil {
			return err
		}
		l.def.Note(&p, before, some[i].State)
	}
	l.page(&p).States = body
	it, err := l.pages.Encode(&p)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(entries, func(e entry) bool { return !e.Has }) {
		keepPage(it, t.Now())
	}
	_, err = t.API().PutItem(ctx, putIfAbsent(t.Name(), it))
	if err == nil {
		l.page(&p).States = nil
		lg.last, lg.next = &p, lg.next+1
	}
	return err
}

// Erase erases removed states for good: it deletes their former values from all pages. Call it
// after the folds that read the log have seen the removal. States that exist, and pages that cannot
// be read, remain unchanged. Errors: table.ErrConflict if a page changes at the same time.
func (l *StateLog[S, K, P, PK]) Erase(ctx context.Context, t *table.Table, keys []K, damaged func(error)) error {
	byLog := make(map[string]map[string]bool)
	likes := make(map[string]*S)
	for _, k := range keys {
		like, key, err := l.zero(k)
		id, idErr := l.logID(k)
		if err = errors.Join(err, idErr); err != nil {
			return fmt.Errorf("fold: forget %s: %w", l.states.Name(), err)
		}
		if byLog[id] == nil {
			byLog[id], likes[id] = make(map[string]bool), like
		}
		byLog[id][stringOf(key[table.AttrSK])] = true
	}
	for id, sks := range byLog {
		if err := l.erase(ctx, t, likes[id], sks, damaged); err != nil {
			return fmt.Errorf("fold: forget %s: %w", l.states.Name(), err)
		}
	}
	return nil
}

func (l *StateLog[S, K, P, PK]) erase(ctx context.Context, t *table.Table, like *S, sks map[string]bool, damaged func(error)) error {
	lg, err := l.readLog(ctx, t, like, damaged)
	if err != nil {
		return err
	}
	e := l.erased()
	for number := range lg.next {
		key, err := e.key(e.open(like, number, nil))
		if err != nil {
			return err
		}
		out, err := t.API().GetItem(ctx, &dynamodb.GetItemInput{TableName: ptr(t.Name()), Key: key, ConsistentRead: ptr(true)})
		if err != nil {
			return err
		}
		if out.Item == nil { // expired
			continue
		}
		_, body, err := e.decode(out.Item)
		if err != nil {
			continue // readLog has passed it to damaged
		}
		without, changed, err := lg.without(body, sks)
		if err != nil || !changed {
			continue
		}
		if err := putStates(ctx, t, key, body.States, without); err != nil {
			return err
		}
	}
	return nil
}

// without returns the body of a page without the values of removed states. The entry of the removal
// itself keeps its marks.
func (lg *savedLog) without(p Page, sks map[string]bool) (body []byte, changed bool, err error) {
	entries, err := decodePage(p.States)
	if err != nil {
		return nil, false, err
	}
	kept := entries[:0]
	for _, e := range entries {
		last, there := lg.states[e.SK]
		switch {
		case !sks[e.SK] || !there || last.Has:
			kept = append(kept, e)
		case last.number != p.Number:
			changed = true
		default:
			changed = changed || e.Had
			e.Was, e.Had = "", false
			kept = append(kept, e)
		}
	}
	body, err = pageEntries.Append(nil, kept)
	return body, changed, err
}

// putStates overwrites the states of a page unless they have changed.
func putStates(ctx context.Context, t *table.Table, key table.Item, was, is []byte) error {
	_, err := t.API().UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: ptr(t.Name()), Key: key,
		UpdateExpression: ptr("SET #states = :is"), ConditionExpression: ptr("#states = :was"),
		ExpressionAttributeNames: map[string]string{"#states": "states"},
		ExpressionAttributeValues: table.Item{
			":is": &types.AttributeValueMemberB{Value: is}, ":was": &types.AttributeValueMemberB{Value: was},
		},
	})
	if dynamo.IsConditionFailed(err) {
		return table.ErrConflict
	}
	return err
}

// latest returns the current states in the given pages as items, in the order in which they first
// appear.
func (l *StateLog[S, K, P, PK]) latest(pages []table.Item) ([]table.Item, error) {
	e := l.erased()
	at := make(map[string]int)
	var out []table.Item
	for _, it := range pages {
		_, body, err := e.decode(it)
		if err != nil {
			return nil, err
		}
		entries, err := decodePage(body.States)
		if err != nil {
			return nil, err
		}
		for i := range entries {
			key := entries[i].keyIn(it[table.AttrPK])
			s, err := l.stateOf(key, entries[i].after())
			if err != nil {
				return nil, err
			}
			item := zeroItem(key, table.Removed)
			if s != nil {
				if item, err = l.states.Encode(s); err != nil {
					return nil, err
				}
			}
			id := requests.ID(key)
			if n, seen := at[id]; seen {
				out[n] = item
				continue
			}
			at[id] = len(out)
			out = append(out, item)
		}
	}
	return slices.DeleteFunc(out, table.IsRemoved), nil
}

// Latest returns the current states in pages of the fold's log, as items. Pages must be in the
// order of their keys. For a fold without a log it returns the items unchanged. It is meant for
// tests and for tools that inspect tables.
func (f *Fold) Latest(pages []table.Item) ([]table.Item, error) {
	if f.options.log == nil {
		return pages, nil
	}
	return f.options.log.latest(pages)
}

// ExampleStates returns the body of a page with one new state, for documentation, from the state's
// sort key and encoding.
func ExampleStates(sk string, state []byte) []byte {
	body, err := pageEntries.Append(nil, []entry{{SK: sk, Is: string(state), Has: true}})
	if err != nil {
		panic(err) // one small state
	}
	return body
}

// Get returns a state. It reads the pages of the log backwards until one contains the state.
// Errors: table.ErrNotFound; ErrPage if a page that may contain it cannot be read.
func (l *StateLog[S, K, P, PK]) Get(ctx context.Context, t *table.Table, k K) (S, error) {
	s, err := l.get(ctx, t, k)
	if err != nil {
		return s, fmt.Errorf("fold: get %s: %w", l.states.Name(), err)
	}
	return s, nil
}

// pagesAtOnce is the number of pages requested at a time when earlier pages may not be needed.
const pagesAtOnce = 16

func (l *StateLog[S, K, P, PK]) get(ctx context.Context, t *table.Table, k K) (none S, err error) {
	like, key, err := l.zero(k)
	if err != nil {
		return none, err
	}
	in, err := l.pagesOf(t, like)
	if err != nil {
		return none, err
	}
	in.ScanIndexForward, in.Limit = ptr(false), ptr(int32(pagesAtOnce))
	sk := stringOf(key[table.AttrSK])
	for {
		out, err := t.API().Query(ctx, in)
		if err != nil {
			return none, err
		}
		for _, it := range out.Items {
			if table.Expired(it, t.Now()) {
				continue
			}
			e, err := l.find(it, sk)
			switch {
			case err != nil:
				return none, err
			case e != nil && !e.Has:
				return none, table.ErrNotFound
			case e != nil:
				err = l.def.Read([]byte(e.Is), like)
				return *like, err
			}
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
			return none, table.ErrNotFound
		}
	}
}

// find returns a page's entry for a state, or nil. It decodes the other columns only if the page
// contains the state.
func (l *StateLog[S, K, P, PK]) find(it table.Item, sk string) (*entry, error) {
	p := new(P)
	if err := l.pages.DecodeInto(it, p); err != nil {
		return nil, err
	}
	body := l.page(p).States
	entries, err := decodePage(body, entrySK)
	if err != nil {
		return nil, l.damaged(p, err)
	}
	i := slices.IndexFunc(entries, func(e entry) bool { return e.SK == sk })
	if i < 0 {
		return nil, nil
	}
	if entries, err = decodePage(body, entrySK, entryIs, entryHas); err != nil {
		return nil, l.damaged(p, err)
	}
	return &entries[i], nil
}

// pagesOf returns a query for all pages of the log that a state belongs to.
func (l *StateLog[S, K, P, PK]) pagesOf(t *table.Table, s *S) (*dynamodb.QueryInput, error) {
	e := l.erased()
	first, err := e.key(e.open(s, 0, nil))
	if err != nil {
		return nil, err
	}
	end, err := e.key(e.open(s, MaxPage, nil))
	if err != nil {
		return nil, err
	}
	return itemsBetween(t.Name(), first[table.AttrPK], first[table.AttrSK], end[table.AttrSK]), nil
}
