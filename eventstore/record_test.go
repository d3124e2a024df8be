package eventstore_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/internal/seeds"
)

var rewriteGolden = flag.Bool("rewrite-record", false, "write testdata/append.record again")

const goldenRecord = "testdata/append.record"

// goldenAppend returns events with all fields and the record's other content.
func goldenAppend() ([]eventstore.Event, eventstore.RecordInfo) {
	at := time.Date(2026, 4, 20, 14, 0, 0, 123e6, time.UTC)
	events := make([]eventstore.Event, 3)
	for i := range events {
		events[i] = eventstore.Event{
			EventKey: eventstore.EventKey{ID: order("1042"), Seq: int64(300 + i)}, EventID: fmt.Sprintf("01JS9G5D0000000000000000%02d", i), EventType: "OrderPaid",
			OccurredAt: at.AddDate(-100, 0, i), RecordedAt: at, Payload: eventstore.Payload(`{"total":"12.50"}`), CommitID: "pay-1042", Nth: 2 + i, Of: 5,
		}
	}
	events[1].EventType, events[1].Schema, events[1].Payload, events[1].Shard = "Noted", 7, eventstore.Payload{0xff, 0}, 3
	events[1].Envelope = eventstore.Envelope{Correlation: "c", Causation: "d", Actor: "ada", Tenant: "t", Metadata: map[string]string{"k#": "v", "empty": ""}}
	events[2].EventID, events[2].Payload, events[2].Hash = "not a ULID", nil, bytes.Repeat([]byte{7}, 32)
	return events, eventstore.RecordInfo{Named: true, Digest: bytes.Repeat([]byte{1}, 32), Sealed: bytes.Repeat([]byte{2}, 32)}
}

// The bytes of a record are part of the stored format and must not change.
func TestRecordIsStable(t *testing.T) {
	events, info := goldenAppend()
	r := eventstore.NewRecord(events, info)
	if *rewriteGolden {
		if err := os.WriteFile(goldenRecord, r, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := os.ReadFile(goldenRecord)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(stored, r) {
		t.Errorf("%s has other bytes. If the format is meant to change, write it again with -rewrite-record and say so in docs/format/eventstore.md.", goldenRecord)
	}
	is, err := eventstore.Record(stored).Events(order("1042"), nil)
	if err != nil || !reflect.DeepEqual(is, events) {
		t.Errorf("it has %+v (%v), want %+v", is, err, events)
	}
	got, err := eventstore.Record(stored).Info()
	want := eventstore.RecordInfo{First: 300, N: 3, Nth: 2, Of: 5, RecordedAt: events[0].RecordedAt, CommitID: "pay-1042", Named: true, Digest: info.Digest, Sealed: info.Sealed}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("it is %+v (%v), want %+v", got, err, want)
	}
	for from := int64(299); from <= 303; from++ {
		cut, err := eventstore.Record(stored).From(order("1042"), from)
		if err != nil {
			t.Fatal(err)
		}
		rest := events[max(from-300, 0):]
		if len(rest) == 0 {
			if cut != nil {
				t.Errorf("from %d on: %d bytes", from, len(cut))
			}
			continue
		}
		if !bytes.Equal(cut, eventstore.NewRecord(rest, info)) {
			t.Errorf("from %d on: %x", from, cut)
		}
	}
}

// Every flipped bit of a record is detected, and so is one that is cut short.
func TestEveryBitOfARecordCounts(t *testing.T) {
	r, err := os.ReadFile(goldenRecord)
	if err != nil {
		t.Fatal(err)
	}
	for bit := range 8 * len(r) {
		r[bit/8] ^= 1 << (bit % 8)
		if events, err := eventstore.Record(r).Events(order("1"), nil); !errors.Is(err, eventstore.ErrPage) || len(events) > 0 {
			t.Fatalf("bit %d is flipped, and %d events are read: %v", bit, len(events), err)
		}
		r[bit/8] ^= 1 << (bit % 8)
	}
	for n := range r {
		if _, err := eventstore.Record(r[:n]).Events(order("1"), nil); !errors.Is(err, eventstore.ErrPage) {
			t.Fatalf("%d bytes are read: %v", n, err)
		}
	}
}

// Decoded events share no memory with the record.
func TestDecodedEventsAreCopies(t *testing.T) {
	events, info := goldenAppend()
	r := eventstore.NewRecord(events, info)
	before := bytes.Clone(r)
	is, err := r.Events(order("1042"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range is {
		for k := range is[i].Payload {
			is[i].Payload[k] ^= 0xff
		}
		_ = append(is[i].Payload, "more than its own bytes"...)
		_ = append(is[i].Hash, 1)
	}
	if !bytes.Equal(r, before) {
		t.Error("the record has changed")
	}
	again, err := r.Events(order("1042"), nil)
	if err != nil || !reflect.DeepEqual(again, events) {
		t.Errorf("it has %+v (%v)", again, err)
	}
}

// Random events are read as they were written.
func TestRandomRecords(t *testing.T) {
	seeds.Run(t, 20, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		text := func(most int) string {
			b := make([]byte, r.IntN(most+1))
			for i := range b {
				b[i] = byte(' ' + r.IntN(90))
			}
			return string(b)
		}
		nth, n, of := r.IntN(50), 1+r.IntN(20), 98
		events := make([]eventstore.Event, n)
		at := time.UnixMilli(r.Int64N(4e12) - 1e12).UTC()
		commit := text(63) + "c"
		for i := range events {
			e := eventstore.Event{
				EventKey: eventstore.EventKey{ID: order("1"), Seq: 1 + int64(i) + 5}, EventID: text(30), EventType: text(5) + "T", Schema: r.IntN(3), Shard: r.IntN(256),
				OccurredAt: time.UnixMilli(r.Int64N(4e12) - 1e12).UTC(), RecordedAt: at, CommitID: commit, Nth: nth + i, Of: of,
			}
			e.Correlation, e.Causation, e.Actor, e.Tenant = text(r.IntN(4)), text(r.IntN(4)), text(r.IntN(4)), text(r.IntN(4))
			if p := text(500); p != "" {
				e.Payload = eventstore.Payload(p)
			}
			for range r.IntN(3) {
				if e.Metadata == nil {
					e.Metadata = map[string]string{}
				}
				e.Metadata[text(9)] = text(9)
			}
			events[i] = e
		}
		is, err := eventstore.NewRecord(events, eventstore.RecordInfo{}).Events(order("1"), nil)
		if err != nil || !reflect.DeepEqual(is, events) {
			t.Errorf("read %+v (%v), want %+v", is, err, events)
		}
	})
}

// FuzzRecord decodes records whose checksum is right. Decoding never panics, and decoded events can be
// encoded again.
func FuzzRecord(f *testing.F) {
	events, info := goldenAppend()
	for _, r := range []eventstore.Record{eventstore.NewRecord(events, info), eventstore.NewRecord(events[:1], eventstore.RecordInfo{}), eventstore.NewRecord(events[1:], info)} {
		f.Add([]byte(r[:len(r)-4]))
	}
	f.Add([]byte{1, 0, 1, 98, 0, 98, 0, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := eventstore.Record(binary.BigEndian.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))))
		is, err := r.Events(order("1"), nil)
		if err != nil {
			if !errors.Is(err, eventstore.ErrPage) || len(is) > 0 {
				t.Fatalf("%d events, %v", len(is), err)
			}
			return
		}
		info, err := r.Info()
		if err != nil || info.N != len(is) {
			t.Fatalf("%+v, %v", info, err)
		}
		again, err := eventstore.NewRecord(is, info).Events(order("1"), nil)
		if err != nil || !reflect.DeepEqual(again, is) {
			t.Fatalf("%+v (%v), encoded again, is %+v", is, err, again)
		}
	})
}
