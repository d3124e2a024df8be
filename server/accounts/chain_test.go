package accounts_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/table"
)

// whole returns all entries of the record, oldest first.
func (w *world) whole() []accounts.Entry {
	w.Helper()
	var all []accounts.Entry
	for e, err := range w.EntriesBetween(w.Context(), w.now().AddDate(-2, 0, 0), w.now().AddDate(1, 0, 0)) {
		must(w.T, err)
		all = append(all, e)
	}
	return all
}

func (w *world) check(head string) accounts.Verified {
	w.Helper()
	v, err := w.Verify(w.Context(), head)
	must(w.T, err)
	return v
}

// record makes n entries, at random intervals up to the longest.
func (w *world) record(r *rand.Rand, n int, longest time.Duration) {
	w.Helper()
	for range n {
		e := accounts.Entry{Actor: "user:a", Action: "site.update", Site: fmt.Sprint("site", r.IntN(3)), Subject: fmt.Sprint(r.IntN(100))}
		must(w.T, w.RecordChange(w.Context(), e, map[string]any{"name": fmt.Sprint(r.IntN(3)), "public": false}, map[string]any{"name": fmt.Sprint(r.IntN(3)), "public": r.IntN(2) == 0}))
		w.pass(time.Duration(r.Int64N(int64(longest))))
	}
}

// put and remove simulate an attacker with direct access to the table.
func (w *world) put(e accounts.Entry) {
	w.Helper()
	item, err := accounts.Entries.Encode(&e)
	must(w.T, err)
	name := "onefold"
	_, err = w.db.PutItem(w.Context(), &dynamodb.PutItemInput{TableName: &name, Item: item})
	must(w.T, err)
}

func (w *world) remove(k accounts.EntryKey) {
	w.Helper()
	key, err := accounts.Entries.Key(k)
	must(w.T, err)
	name := "onefold"
	_, err = w.db.DeleteItem(w.Context(), &dynamodb.DeleteItemInput{TableName: &name, Key: key})
	must(w.T, err)
}

func (w *world) removeHead() {
	w.Helper()
	name := "onefold"
	_, err := w.db.DeleteItem(w.Context(), &dynamodb.DeleteItemInput{TableName: &name, Key: map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: "ACCOUNT#AUDIT"}, "sk": &types.AttributeValueMemberS{Value: "HEAD"},
	}})
	must(w.T, err)
}

// The check detects all tampering, and reports nothing for an intact record.
func TestTamperingIsFound(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	ways := map[string]func(w *world, all []accounts.Entry, i int) (codes string){
		"drop": func(w *world, all []accounts.Entry, i int) string {
			w.remove(all[i].EntryKey)
			return "missing truncated"
		},
		"drop the first": func(w *world, all []accounts.Entry, i int) string {
			for _, e := range all[:i+1] {
				w.remove(e.EntryKey)
			}
			return "missing truncated"
		},
		"truncate": func(w *world, all []accounts.Entry, i int) string {
			for _, e := range all[i:] {
				w.remove(e.EntryKey)
			}
			return "truncated"
		},
		"change": func(w *world, all []accounts.Entry, i int) string {
			e := all[i]
			switch r.IntN(7) {
			case 0:
				e.Actor = "user:b"
			case 1:
				e.Action += "x"
			case 2:
				e.Site, e.Subject = e.Subject, e.Site
			case 3:
				e.Changes = append(e.Changes[:0:0], accounts.Change{Field: "public", Before: "true", After: "false"}, accounts.Change{Field: "x"})
			case 4:
				e.Omitted++
			case 5:
				e.Expires = e.Expires.Add(-time.Second)
			case 6:
				e.Subject, e.Changes = "", nil
			}
			w.put(e)
			return "changed"
		},
		"swap": func(w *world, all []accounts.Entry, i int) string {
			a, b := all[i], all[(i+1)%len(all)]
			a.EntryKey, b.EntryKey = b.EntryKey, a.EntryKey
			w.put(a)
			w.put(b)
			return "changed inserted missing"
		},
		"insert": func(w *world, all []accounts.Entry, i int) string {
			e := all[i]
			e.EntryID = e.EntryID[:20] + "ZZZZZZ"
			w.put(e)
			return "inserted changed"
		},
		"insert with the next number": func(w *world, all []accounts.Entry, i int) string {
			e := all[i]
			e.PrevID, e.Prev, e.Seq = e.EntryID, e.Sum(), e.Seq+1
			e.EntryID = e.EntryID[:20] + "ZZZZZZ"
			w.put(e)
			return "inserted changed"
		},
		"insert without a number": func(w *world, all []accounts.Entry, i int) string {
			e := all[len(all)-1]
			e.EntryID, e.Seq, e.Prev, e.PrevID = e.EntryID[:20]+"ZZZZZZ", 0, "", ""
			w.put(e)
			return "unchained"
		},
		"insert without a time": func(w *world, all []accounts.Entry, i int) string {
			e := all[i]
			e.EntryID, e.Seq = "nonsense", 0
			w.put(e)
			return "unchained"
		},
		"without a head": func(w *world, all []accounts.Entry, i int) string {
			w.removeHead()
			return "no_head"
		},
		"begin again": func(w *world, all []accounts.Entry, i int) string {
			w.removeHead()
			w.record(r, 2, time.Hour)
			return "inserted changed"
		},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			for range 6 {
				w := newWorld(t)
				n := 3 + r.IntN(12)
				w.record(r, n, 20*24*time.Hour)
				w.pass(-30 * time.Minute) // none has expired
				all := w.whole()
				if v := w.check(""); !v.Whole() || v.Entries != int64(len(all)) || v.Head == "" {
					t.Fatalf("before: %+v %+v", v, v.Damage)
				}
				noted := w.check("").Head
				codes := way(w, all, r.IntN(len(all)))
				v := w.check("")
				if v.Whole() || v.Damage == nil || !strings.Contains(codes, v.Damage.Code) || v.Damage.Detail == "" {
					t.Errorf("%d entries: %+v %+v, want %s", n, v, v.Damage, codes)
				}
				if _, err := w.Verify(t.Context(), noted); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// A record that was rewritten as a whole is a valid chain: only a head that was noted before
// reveals it.
func TestANotedHeadTellsOfARecordWrittenAnew(t *testing.T) {
	w := newWorld(t)
	r := rand.New(rand.NewPCG(1, 2))
	w.record(r, 5, time.Hour)
	early := w.check("").Head
	w.record(r, 5, time.Hour)
	if v := w.check(early); v.Noted != accounts.Found || !v.Whole() {
		t.Fatalf("%+v", v)
	}
	for _, e := range w.whole() {
		w.remove(e.EntryKey)
	}
	w.removeHead()
	if v := w.check(early); v.Noted != accounts.Missing || v.Whole() || v.Damage != nil {
		t.Errorf("an empty record: %+v", v)
	}
	w.record(r, 10, time.Hour)
	if v := w.check(""); !v.Whole() {
		t.Errorf("written anew, as far as can be told: %+v", v)
	}
	if v := w.check(early); v.Noted != accounts.Missing || v.Whole() {
		t.Errorf("written anew: %+v", v)
	}
	for _, head := range []string{"x", "5", "5:abc", early + "0", "0" + early, "-" + early, strings.ToUpper(early)} {
		if _, err := w.Verify(t.Context(), head); !errors.Is(err, accounts.ErrInvalid) && head != strings.ToUpper(early) {
			t.Errorf("%s: %v", head, err)
		}
	}
}

// Entries expire one after another, and the rest of the record stays valid all the time, even when
// nothing is left.
func TestAnExpiredBeginningIsNoDamage(t *testing.T) {
	w := newWorld(t)
	r := rand.New(rand.NewPCG(rand.Uint64(), 0))
	w.record(r, 20, 10*24*time.Hour)
	head := w.check("").Head
	first := w.check("").First
	for w.check("").Entries > 0 {
		w.pass(time.Duration(r.Int64N(int64(30 * 24 * time.Hour))))
		v := w.check(head)
		if !v.Whole() || v.First < first && v.First != 0 || v.Entries > 0 && v.Noted != accounts.Found {
			t.Fatalf("%+v %+v", v, v.Damage)
		}
		first = v.First
	}
	if v := w.check(head); v.Noted != accounts.Expired || !v.Whole() || v.Head != head {
		t.Errorf("at last: %+v", v)
	}
	w.record(r, 3, time.Hour)
	if v := w.check(""); !v.Whole() || v.First != 21 || v.Entries != 3 {
		t.Errorf("and on: %+v %+v", v, v.Damage)
	}
	all := w.whole()
	w.pass(399 * 24 * time.Hour)
	w.remove(all[0].EntryKey)
	if v := w.check(""); v.Damage == nil || v.Damage.Code != "missing" || v.Damage.EntryID != all[0].EntryID {
		t.Errorf("a day before its time: %+v %+v", v, v.Damage)
	}
	w.pass(25 * time.Hour)
	if v := w.check(""); !v.Whole() {
		t.Errorf("in its time: %+v %+v", v, v.Damage)
	}
}

// Entries of versions before the chain have no place in it. While servers are upgraded, some are
// still made beside it.
func TestEntriesFromBeforeTheChain(t *testing.T) {
	w := newWorld(t)
	old := func() {
		id := ulidAt(w.now())
		w.put(accounts.Entry{EntryKey: accounts.EntryKey{Month: w.now().Format("2006-01"), EntryID: id}, Actor: "user:a", Action: "site.create", Expires: w.now().Add(time.Hour * 24 * 400)})
	}
	old()
	w.pass(time.Hour)
	if v := w.check(""); !v.Whole() || v.Older != 1 || v.Head != "" {
		t.Fatalf("%+v", v)
	}
	w.record(rand.New(rand.NewPCG(1, 1)), 3, time.Minute)
	w.pass(time.Hour)
	old()
	if v := w.check(""); !v.Whole() || v.Older != 2 || v.Entries != 3 {
		t.Errorf("%+v %+v", v, v.Damage)
	}
	w.pass(24 * time.Hour)
	old()
	if v := w.check(""); v.Damage == nil || v.Damage.Code != "unchained" {
		t.Errorf("%+v", v)
	}
}

// meddler is an API on which transactions collide, and whose responses are lost now and then.
type meddler struct {
	dynamo.API
	mu    sync.Mutex
	r     *rand.Rand
	lost  atomic.Int64
	tries atomic.Int64
}

var errLost = errors.New("the answer was lost")

func (m *meddler) roll(n int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.r.IntN(n) == 0
}

func (m *meddler) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	m.tries.Add(1)
	if m.roll(10) {
		m.lost.Add(1)
		return nil, errLost // the request was lost, as when a process ends before sending it
	}
	out, err := m.API.TransactWriteItems(ctx, in, o...)
	if err == nil && m.roll(10) {
		m.lost.Add(1)
		return nil, errLost // the response was lost: the caller does not know that it succeeded
	}
	if err == nil && m.roll(4) { // sent again by a lower layer, with its token
		out, err = m.API.TransactWriteItems(ctx, in, o...)
	}
	return out, err
}

// Servers that write concurrently, stop in between and retry make one chain. It has each entry
// whose writer saw success exactly once, and possibly entries whose writer saw an error.
func TestWritersMakeOneChain(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	w := newWorld(t)
	const writers, each = 8, 25
	m := &meddler{API: w.db, r: rand.New(rand.NewPCG(seed, 0))}
	var wait sync.WaitGroup
	var mu sync.Mutex
	told := map[string]bool{}
	for i := range writers {
		clock := w.now().Add(time.Duration(i-writers/2) * time.Minute) // no two clocks agree
		if i == 0 {
			clock = w.now().Add(2 * time.Hour) // and one is far off
		}
		s := accounts.New(table.New(m, "onefold", table.Options{Clock: func() time.Time { return clock }}), accounts.Options{})
		wait.Go(func() {
			for k := range each {
				id := fmt.Sprintf("%d-%d", i, k)
				err := s.Record(t.Context(), accounts.Entry{Actor: "user:a", Action: "site.update", Subject: id})
				if err != nil && !errors.Is(err, errLost) {
					t.Errorf("%s: %v", id, err)
				}
				mu.Lock()
				told[id] = err == nil
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	seen, numbers := map[string]bool{}, map[int64]bool{}
	for _, e := range w.whole() {
		if seen[e.Subject] || numbers[e.Seq] {
			t.Errorf("%s is there twice, or its number %d", e.Subject, e.Seq)
		}
		seen[e.Subject], numbers[e.Seq] = true, true
	}
	for id, ok := range told {
		if ok && !seen[id] {
			t.Errorf("%s was recorded, and is not there", id)
		}
	}
	v := w.check("")
	if !v.Whole() || v.Entries != int64(len(seen)) {
		t.Errorf("%+v %+v of %d", v, v.Damage, len(seen))
	}
	t.Logf("%d entries took %d transactions, %d answers or requests lost", len(seen), m.tries.Load(), m.lost.Load())
	if m.lost.Load() == 0 || len(seen) < writers*each/2 {
		t.Error("nothing was lost, or nearly everything")
	}
}

func ulidAt(at time.Time) string {
	id := ulid.ULID{}
	if err := id.SetTime(ulid.Timestamp(at)); err != nil {
		panic(err)
	}
	return id.String()
}

// The example entry in docs/format/audit.md has the hash that is given there.
func TestTheFormatsExample(t *testing.T) {
	text, err := os.ReadFile("../../docs/format/audit.md")
	must(t, err)
	_, rest, _ := strings.Cut(string(text), "```\n")
	example, rest, ok := strings.Cut(rest, "```\n")
	told := regexp.MustCompile("`([0-9a-f]{64})`").FindStringSubmatch(rest)
	if !ok || told == nil {
		t.Fatal("no example")
	}
	at := time.Date(2026, 5, 12, 10, 0, 0, 0, time.UTC)
	e := accounts.Entry{
		EntryKey: accounts.EntryKey{Month: "2026-05", EntryID: ulidAt(at)}, Actor: "user:a", Action: "site.update", Site: "blog", Seq: 1,
		Changes: []accounts.Change{{Field: "name", Before: "Blog", After: "Journal"}}, Expires: at.AddDate(0, 0, 400),
	}
	sum := sha256.Sum256([]byte(example))
	if hex.EncodeToString(sum[:]) != told[1] || e.Sum() != told[1] {
		t.Errorf("the example has %x, the entry %s (%s, %d), told is %s", sum, e.Sum(), e.EntryID, e.Expires.Unix(), told[1])
	}
}
