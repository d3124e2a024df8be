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

// Watched is an API that notices writes of blocks of raw events. An Explorer on it caches a day
// until one of the day's events is written, so that it neither misses late events nor keeps erased
// ones. It sees only its own writes, so all writers of events must use it. If several processes
// write to the store, do not use it.
//
// It counts writes by site and hour, in hashed counters that hours may share. A collision only
// causes a day to be read again, and is rare.
type Watched struct {
	dynamo.API
	seed   maphash.Seed
	writes [1 << 16]atomic.Uint64
	files  atomic.Pointer[Files] // from which changed days are removed; nil: none
}

// Watch returns a Watched for api.
func Watch(api dynamo.API) *Watched { return &Watched{API: api, seed: maphash.MakeSeed()} }

// Values returns the API's values reader. Reads are not counted.
func (w *Watched) Values() dynamo.ValuesReader { return dynamo.ValuesOf(w.API) }

// changed is the pseudo-hour that counts changes and deletions of a site's events.
const changed = -1

func (w *Watched) place(site string, hour int64) *atomic.Uint64 {
	h := maphash.String(w.seed, site) ^ uint64(hour)*0x9e3779b97f4a7c15
	h ^= h >> 32
	return &w.writes[(h^h>>16)%uint64(len(w.writes))]
}

// version increases whenever an event of a site in [from, to) is written.
func (w *Watched) version(site string, from, to time.Time) (sum uint64) {
	for hour := from.Unix() / 3600; hour <= to.Add(-1).Unix()/3600; hour++ {
		sum += w.place(site, hour).Load()
	}
	return sum
}

// changes increases whenever an event of a site is changed or deleted.
func (w *Watched) changes(site string) uint64 { return w.place(site, changed).Load() }

// note counts a write of the item with a key, after the write. A reader that reads the counter
// before the events therefore finds it increased if it missed the write. Failed writes count as
// well, because they may have been made.
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
	if isNew {
		return
	}
	w.place(site, changed).Add(1)
	if files := w.files.Load(); files != nil {
		files.removeAt(site, timeOf(id)/1000)
	}
}

// PutItem counts a new block.
func (w *Watched) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	defer w.note(in.Item, true)
	return w.API.PutItem(ctx, in, o...)
}

// putsAtOnce is the concurrency of PutItems on an API without a batch operation.
const putsAtOnce = 16

// PutItems counts new blocks; see dynamo.Putter.
func (w *Watched) PutItems(ctx context.Context, ins []*dynamodb.PutItemInput) []error {
	errs := dynamo.PutAll(ctx, w.API, ins, putsAtOnce)
	for _, in := range ins {
		w.note(in.Item, true)
	}
	return errs
}

// UpdateItem counts a change.
func (w *Watched) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	defer w.note(in.Key, false)
	return w.API.UpdateItem(ctx, in, o...)
}

// DeleteItem counts a deletion.
func (w *Watched) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, o ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	defer w.note(in.Key, false)
	return w.API.DeleteItem(ctx, in, o...)
}

// BatchWriteItem counts changes, because a put may replace an item.
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

// TransactWriteItems counts changes.
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
