package explore

import (
	"context"
	"hash/maphash"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/table"
)

// Watched is an API that notes when blocks of raw events are written. An Explorer of a table on it keeps the days that it has read
// until one of their events is written, so that it neither misses a late event nor remembers an erased one. It sees what
// is written through it, so all who write events have to: with a store that several processes write to, do without.
//
// It counts writes by site and hour, in places that hours may share: then one is read again without need, which is rare.
type Watched struct {
	dynamo.API
	seed   maphash.Seed
	writes [1 << 16]atomic.Uint64
}

// Watch notes what is written through an API.
func Watch(api dynamo.API) *Watched { return &Watched{API: api, seed: maphash.MakeSeed()} }

// Values is what the API offers: reading is not noted.
func (w *Watched) Values() dynamo.ValuesReader { return dynamo.ValuesOf(w.API) }

// changed is the hour in which the changes of a site's events are counted that are no new ones.
const changed = -1

func (w *Watched) place(site string, hour int64) *atomic.Uint64 {
	h := maphash.String(w.seed, site) ^ uint64(hour)*0x9e3779b97f4a7c15
	h ^= h >> 32
	return &w.writes[(h^h>>16)%uint64(len(w.writes))]
}

// version grows whenever an event of a site is written whose time is between two.
func (w *Watched) version(site string, from, to time.Time) (sum uint64) {
	for hour := from.Unix() / 3600; hour <= to.Add(-1).Unix()/3600; hour++ {
		sum += w.place(site, hour).Load()
	}
	return sum
}

// changes grows whenever an event of a site is changed or deleted.
func (w *Watched) changes(site string) uint64 { return w.place(site, changed).Load() }

// note counts a write of the item with a key, after it was made: whoever reads the count before it reads the events
// finds it grown if it has missed the write. A write that failed may have been made all the same.
func (w *Watched) note(key map[string]types.AttributeValue, isNew bool) {
	sk, ok := key[table.AttrSK].(*types.AttributeValueMemberS)
	if !ok {
		return
	}
	id, ok := strings.CutPrefix(sk.Value, "BLOCK#")
	if !ok {
		return
	}
	pk, ok := key[table.AttrPK].(*types.AttributeValueMemberS)
	if !ok {
		return
	}
	site, _, _ := strings.Cut(strings.TrimPrefix(pk.Value, "SITE#"), "#")
	w.place(site, timeOf(id)/3_600_000).Add(1)
	if !isNew {
		w.place(site, changed).Add(1)
	}
}

// PutItem notes an event.
func (w *Watched) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	defer w.note(in.Item, true)
	return w.API.PutItem(ctx, in, o...)
}

// putsAtOnce is how many items are put at the same time if the API does not offer to put many.
const putsAtOnce = 16

// PutItems notes events; see dynamo.Putter.
func (w *Watched) PutItems(ctx context.Context, ins []*dynamodb.PutItemInput) []error {
	errs := dynamo.PutAll(ctx, w.API, ins, putsAtOnce)
	for _, in := range ins {
		w.note(in.Item, true)
	}
	return errs
}

// UpdateItem notes a change.
func (w *Watched) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	defer w.note(in.Key, false)
	return w.API.UpdateItem(ctx, in, o...)
}

// DeleteItem notes a deletion.
func (w *Watched) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, o ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	defer w.note(in.Key, false)
	return w.API.DeleteItem(ctx, in, o...)
}

// BatchWriteItem notes changes: a put may replace what was there.
func (w *Watched) BatchWriteItem(ctx context.Context, in *dynamodb.BatchWriteItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	out, err := w.API.BatchWriteItem(ctx, in, o...)
	for _, writes := range in.RequestItems {
		for _, r := range writes {
			if r.PutRequest != nil {
				w.note(r.PutRequest.Item, false)
			}
			if r.DeleteRequest != nil {
				w.note(r.DeleteRequest.Key, false)
			}
		}
	}
	return out, err
}

// TransactWriteItems notes changes.
func (w *Watched) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	out, err := w.API.TransactWriteItems(ctx, in, o...)
	for _, t := range in.TransactItems {
		if t.Put != nil {
			w.note(t.Put.Item, false)
		}
		if t.Update != nil {
			w.note(t.Update.Key, false)
		}
		if t.Delete != nil {
			w.note(t.Delete.Key, false)
		}
	}
	return out, err
}
