package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/table"
)

// storedModel holds the stored readings by key, which must be readable.
type storedModel map[ReadingKey]Reading

// TestReadingsInBlocksAndSegments stores readings of any time, including late and repeated ones.
// Meanwhile hours end, readings are moved into segments, moves stop between any two writes, and
// readings expire. It compares what it reads with a list of the stored readings.
func TestReadingsInBlocksAndSegments(t *testing.T) {
	seed := rand.Uint64()
	for n := range uint64(6) {
		t.Run(fmt.Sprint(seed+n), func(t *testing.T) { readingsWhereverTheyAre(t, seed+n) })
	}
}

func readingsWhereverTheyAre(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	w := newWorld(t, "UTC", utc("2026-04-20T14:00"))
	w.device("d2")
	w.device("d3")
	model := storedModel{}
	for step := range 60 {
		w.Advance([]time.Duration{0, time.Second, 20 * time.Minute, 3 * time.Hour}[r.IntN(4)])
		if r.IntN(20) == 0 {
			w.Advance(29 * 24 * time.Hour)
			_, err := w.DB.ExpireNow(w.Ctx)
			w.Must(err)
		}
		model.store(w, r)
		switch r.IntN(5) {
		case 0:
			_, err := MoveReadings(w.Ctx, w.Table)
			w.Must(err)
		case 1:
			moveUntilItFails(w, r)
		case 2: // a server with an empty memory
			w.c = NewCollector(table.New(w.Table.API(), w.Table.Name(), table.Options{Clock: w.Now}), CollectorOptions{})
		}
		if step%3 == 0 {
			model.compare(w, r)
		}
	}
	w.Drain()
	counted := int64(0)
	for _, id := range []string{"d1", "d2", "d3"} {
		for _, a := range w.aggregates(id, Hourly) {
			counted += a.Readings
		}
	}
	if counted != int64(len(model)) {
		t.Errorf("%d readings are counted, %d were stored", counted, len(model))
	}
}

// store sends readings, some of them repeatedly, and compares the outcomes with the model.
func (m storedModel) store(w *world, r *rand.Rand) {
	w.Helper()
	in := make([]Incoming, r.IntN(30))
	for i := range in {
		at := w.Now().Add(-time.Duration(r.IntN(180)) * time.Minute / 2).Truncate(30 * time.Second)
		if r.IntN(6) == 0 {
			at = w.Now().Add(-time.Duration(r.IntN(25*24*60)) * time.Minute).Truncate(time.Minute)
		}
		in[i] = Incoming{DeviceID: fmt.Sprint("d", 1+r.IntN(3)), At: at, Values: Values{"temp": num(w.T, fmt.Sprint(r.IntN(4)))}}
		if r.IntN(3) == 0 {
			in[i].Values["door"] = Text([]string{"open", "shut"}[r.IntN(2)])
		}
		in[i].Imported = r.IntN(4) == 0
		if r.IntN(3) == 0 {
			in[i].Seq = new(int64)
			*in[i].Seq = r.Int64N(maxSeq) // all numbers are different
		}
	}
	for i, o := range w.ingest(in...) {
		k := ReadingKey{DeviceID: in[i].DeviceID, At: in[i].At.UTC(), Disc: discOf(&in[i])}
		was, there := m[k]
		if there && was.ExpiresAt.Unix() <= w.Now().Unix() {
			continue // it may be stored again or not
		}
		if o.Status != map[bool]OutcomeStatus{true: Duplicate, false: Stored}[there] && (there || o.Status != StoredLate) {
			w.Fatalf("%+v: %+v, there %v", in[i], o, there)
		}
		if !there {
			expires := k.At.Add(w.fleet.Retention.Raw())
			if in[i].Imported {
				expires = latest(expires, w.Now().Add(w.fleet.Retention.Raw()))
			}
			m[k] = Reading{Key: k, Values: in[i].Values, Arrived: w.Now().UnixMilli(), ExpiresAt: expires.UTC().Truncate(time.Second), Past: in[i].Imported}
		}
	}
}

// compare reads a range of a device in any way and compares it with the model.
func (m storedModel) compare(w *world, r *rand.Rand) {
	w.Helper()
	in := ReadingsIn{DeviceID: fmt.Sprint("d", 1+r.IntN(3))}
	if r.IntN(3) > 0 {
		in.From = w.Now().Add(-time.Duration(r.IntN(48*60)) * time.Minute)
		in.To = in.From.Add(time.Duration(r.IntN(24*60)) * time.Minute)
	}
	want := slices.SortedFunc(maps.Values(m), func(a, b Reading) int { return a.Compare(&b.Key) })
	want = slices.DeleteFunc(want, func(o Reading) bool {
		return o.DeviceID != in.DeviceID || o.ExpiresAt.Unix() <= w.Now().Unix() || !in.From.IsZero() && (o.At.Before(in.From) || !o.At.Before(in.To))
	})
	got, err := in.Collect(w.Ctx, w.Table)
	w.Must(err)
	var back, paged []Reading
	for one, err := range in.Back(w.Ctx, w.Table) {
		w.Must(err)
		back = append(back, one)
	}
	slices.Reverse(back)
	for cursor := ""; ; {
		page, err := in.Page(w.Ctx, w.Table, cursor, 7)
		w.Must(err)
		paged = append(paged, page.Items...)
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	of, err := in.of(w.Ctx, w.Table)
	w.Must(err)
	n := 0
	for some, err := range of.Samples(w.Ctx, w.Table, "temp", 1+r.IntN(100)) {
		w.Must(err)
		for _, s := range some {
			if n == len(want) || s.At != want[n].At.UnixMilli() || s.Value != want[n].Values["temp"] {
				w.Fatalf("sample %d of %d is %+v, not that of %+v", n, len(want), s, want)
			}
			n++
		}
	}
	if n != len(want) {
		w.Fatalf("%d samples of %d readings", n, len(want))
	}
	for how, all := range map[string][]Reading{"all": got, "back": back, "paged": paged} {
		if len(all) != len(want) {
			w.Fatalf("%s %+v: %d readings, want %d", how, in, len(all), len(want))
		}
		for i := range want {
			g, x := &all[i], &want[i]
			if !g.At.Equal(x.At) || g.Arrived != x.Arrived || !g.ExpiresAt.Equal(x.ExpiresAt) || g.Disc != x.Disc || !maps.Equal(g.Values, x.Values) || x.Past && !g.Past {
				w.Fatalf("%s: %+v, want %+v", how, g, x)
			}
		}
	}
	first, err := in.First(w.Ctx, w.Table)
	newest, err2 := in.Newest(w.Ctx, w.Table)
	if len(want) == 0 {
		if !errors.Is(err, table.ErrNotFound) || !errors.Is(err2, table.ErrNotFound) {
			w.Fatal(err, err2)
		}
	} else if !first.At.Equal(want[0].At) || !newest.At.Equal(want[len(want)-1].At) || cmp.Or(err, err2) != nil {
		w.Fatalf("from %s to %s, want %s to %s (%v, %v)", first.At, newest.At, want[0].At, want[len(want)-1].At, err, err2)
	}
}

// brittle is a store whose writes fail after the first few.
type brittle struct {
	dynamo.API
	left atomic.Int64
}

var errBroken = errors.New("broken")

func (b *brittle) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if b.left.Add(-1) < 0 {
		return nil, errBroken
	}
	return b.API.PutItem(ctx, in, o...)
}

func (b *brittle) BatchWriteItem(ctx context.Context, in *dynamodb.BatchWriteItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	if b.left.Add(-1) < 0 {
		return nil, errBroken
	}
	return b.API.BatchWriteItem(ctx, in, o...)
}

// moveUntilItFails moves all readings with a store that fails at some point.
func moveUntilItFails(w *world, r *rand.Rand) {
	w.Helper()
	b := &brittle{API: w.Table.API()}
	b.left.Store(r.Int64N(12))
	t := table.New(b, w.Table.Name(), table.Options{Clock: w.Now})
	for _, id := range []string{"d1", "d2", "d3"} {
		d, err := GetDevice(w.Ctx, w.Table, id)
		w.Must(err)
		if _, err := MoveReadingsOf(w.Ctx, t, &d); err != nil && !errors.Is(err, errBroken) {
			w.Fatal(err)
		}
	}
}
