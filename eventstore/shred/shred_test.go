package shred_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/eventstoretest"
	"github.com/onefold/onefold/eventstore/fsck"
	"github.com/onefold/onefold/eventstore/shred"
	"github.com/onefold/onefold/internal/seeds"
	"github.com/onefold/onefold/table"
)

type registered struct {
	Customer string `json:"customerId" personal:"subject"`
	Name     string `json:"name" personal:"yes"`
	Age      int    `json:"age" personal:"yes"`
	Plan     string `json:"plan"`
	Address  struct {
		Street string `json:"street" personal:"yes"`
		City   string `json:"city"`
	} `json:"address"`
	Contacts []struct {
		Kind  string `json:"kind"`
		Value string `json:"value" personal:"yes"`
	} `json:"contacts"`
}

// ada contains data that must not be anywhere in the table after she is forgotten.
const ada = `{"customerId":"c1","name":"Ada Lovelace","age":36,"plan":"gold","address":{"street":"St James 12","city":"London"},"contacts":[{"kind":"mail","value":"ada@example.org"},{"kind":"phone","value":"+44 55550100100"}]}`

var adaSays = []string{"Lovelace", "St James", "ada@example", "55550100100", "421742174217"}

type world struct {
	*testing.T
	ctx      context.Context
	db       *enginetest.DB
	table    *table.Table
	store    *eventstore.Store
	keyStore *shred.KeyStore
	again    []string
}

func master(id string) shred.Master {
	return shred.Master{ID: id, Key: bytes.Repeat([]byte(id[:1]), 32)}
}

func personal(t *testing.T) []shred.Personal {
	t.Helper()
	p, err := shred.Of[registered]("Registered")
	if err != nil {
		t.Fatal(err)
	}
	return []shred.Personal{p, {Event: "Noted", Subject: "about", Fields: []string{"note"}, Metadata: []string{"ip"}},
		{Event: "Paired", Subject: "a.id", Fields: []string{"a.name"}}, {Event: "Paired", Subject: "b.id", Fields: []string{"b.name"}}}
}

func newWorld(t *testing.T, o eventstore.Options) *world {
	t.Helper()
	w := &world{T: t, ctx: t.Context(), db: enginetest.New(t)}
	w.must(shred.Schema.Ensure(w.ctx, w.db, "onefold"))
	w.table = table.New(w.db, "onefold", table.Options{Clock: w.db.Now})
	w.keyStore = w.newKeyStore(master("2026"))
	o.Secrets = w.keyStore.Secrets()
	var err error
	w.store, err = eventstore.New(w.table, o)
	w.must(err)
	return w
}

func (w *world) newKeyStore(masters ...shred.Master) *shred.KeyStore {
	w.Helper()
	k, err := shred.New(w.table, shred.Options{Masters: masters, Personal: personal(w.T), Remake: func(id eventstore.ID) error {
		w.again = append(w.again, id.String())
		return nil
	}})
	w.must(err)
	return k
}

// another returns a store of another process on the same table.
func (w *world) another(masters ...shred.Master) *eventstore.Store {
	w.Helper()
	s, err := eventstore.New(w.table, eventstore.Options{Secrets: w.newKeyStore(masters...).Secrets()})
	w.must(err)
	return s
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func customer(n string) eventstore.ID { return eventstore.ID{Type: "customer", ID: n} }

func (w *world) say(id eventstore.ID, eventType, payload string, metadata ...string) error {
	e := eventstore.NewEvent{Type: eventType, Payload: []byte(payload)}
	for i := 0; i < len(metadata); i += 2 {
		if e.Metadata == nil {
			e.Metadata = map[string]string{}
		}
		e.Metadata[metadata[i]] = metadata[i+1]
	}
	_, err := w.store.Append(w.ctx, id, eventstore.Any(), []eventstore.NewEvent{e})
	return err
}

func (w *world) read(s *eventstore.Store, id eventstore.ID) (events []eventstore.Event) {
	w.Helper()
	for e, err := range s.Read(w.ctx, id) {
		w.must(err)
		events = append(events, e)
	}
	return events
}

// sameJSON compares two documents.
func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && fmt.Sprint(x) == fmt.Sprint(y)
}

// everything returns the whole table as text. Everything that looks like base64 is also included in
// decoded form.
func (w *world) everything() string {
	w.Helper()
	var all strings.Builder
	var add func(v types.AttributeValue)
	text := func(s string) {
		all.WriteString(s + "\n")
		for _, part := range strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(`"{}:,\`, r) }) {
			if b, err := base64.StdEncoding.DecodeString(part); err == nil {
				all.Write(append(b, '\n'))
			}
		}
	}
	add = func(v types.AttributeValue) {
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			text(v.Value)
		case *types.AttributeValueMemberB:
			text(string(v.Value))
		case *types.AttributeValueMemberL:
			for _, v := range v.Value {
				add(v)
			}
		case *types.AttributeValueMemberN:
			all.WriteString(v.Value + "\n")
		case *types.AttributeValueMemberM:
			for _, v := range v.Value {
				add(v)
			}
		}
	}
	out, err := w.db.Scan(w.ctx, &dynamodb.ScanInput{TableName: aws.String("onefold")})
	w.must(err)
	for _, it := range out.Items {
		for _, v := range it {
			add(v)
		}
	}
	return all.String()
}

func (w *world) saysNothing(of []string) {
	w.Helper()
	all := w.everything()
	for _, word := range of {
		if strings.Contains(all, word) {
			w.Errorf("the table says %q", word)
		}
	}
}

var states = eventstore.Fold[map[string]string]{Version: 1, Apply: func(m map[string]string, e eventstore.Event) (map[string]string, error) {
	next := map[string]string{}
	for k, v := range m {
		next[k] = v
	}
	next[fmt.Sprint(e.Seq)] = string(e.Payload)
	return next, nil
}}

func (w *world) snapshot(s *eventstore.Store, id eventstore.ID) bool {
	w.Helper()
	at, err := eventstore.Load(w.ctx, s, id, states)
	w.must(err)
	saved, err := eventstore.SaveSnapshot(w.ctx, s, states, at)
	w.must(err)
	return saved
}

func TestErase(t *testing.T) {
	for name, o := range map[string]eventstore.Options{"transactions": {Chain: true}, "one by one": {Chain: true, PutMode: true}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, o)
			w.must(w.say(customer("1"), "Registered", ada))
			w.must(w.say(customer("1"), "Paid", `{"amount":5}`))
			w.must(w.say(customer("2"), "Noted", `{"about":"c1","note":{"pin":[421742174217]}}`, "ip", "Lovelace-ip", "trace", "t"))
			w.must(w.say(customer("2"), "Noted", `{"about":7,"note":"of another"}`))
			w.saysNothing(adaSays)
			w.snapshot(w.store, customer("1"))
			if kept, err := eventstore.KeepPast(w.ctx, w.store, customer("1"), states, 1, 0); err != nil || kept != 2 {
				t.Errorf("kept %d, %v", kept, err)
			}
			w.saysNothing(adaSays)

			other := w.another(master("2026"))
			for _, s := range []*eventstore.Store{w.store, other} {
				one, two := w.read(s, customer("1")), w.read(s, customer("2"))
				if !sameJSON(string(one[0].Payload), ada) || string(one[1].Payload) != `{"amount":5}` || !sameJSON(string(two[0].Payload), `{"about":"c1","note":{"pin":[421742174217]}}`) ||
					fmt.Sprint(two[0].Metadata) != "map[ip:Lovelace-ip trace:t]" {
					t.Errorf("read: %s %v %s %v", one[0].Payload, one[0].Metadata, two[0].Payload, two[0].Metadata)
				}
				if at, err := eventstore.Load(w.ctx, s, customer("1"), states); err != nil || at.Read != 0 || !strings.Contains(at.State["1"], "Lovelace") {
					t.Errorf("load: %+v, %v", at, err)
				}
			}
			compared := fsck.Progress{}
			for f, err := range fsck.Check(w.ctx, w.store, fsck.Options{Folds: map[string]fsck.Replay{"customer": fsck.ReplayOf(states)}, Progress: func(p fsck.Progress) { compared = p }}) {
				t.Errorf("%+v, %v", f, err)
			}
			if compared.Snapshots != 3 {
				t.Errorf("%+v", compared)
			}
			receipt, err := w.keyStore.Erase(w.ctx, "c1")
			if err != nil || len(receipt.Aggregates) != 2 || receipt.Snapshots != 3 || receipt.Remade.IsZero() || fmt.Sprint(w.again) != "[customer/1 customer/2]" {
				t.Errorf("%+v, %v, %v", receipt, w.again, err)
			}
			w.db.Advance(2 * time.Minute) // how long another process remembers keys
			for _, s := range []*eventstore.Store{w.store, other, w.another(master("2026"))} {
				one, two := w.read(s, customer("1")), w.read(s, customer("2"))
				want := `{"customerId":"c1","name":"[forgotten]","age":null,"plan":"gold","address":{"street":"[forgotten]","city":"London"},"contacts":[{"kind":"mail","value":"[forgotten]"},{"kind":"phone","value":"[forgotten]"}]}`
				if !sameJSON(string(one[0].Payload), want) || !sameJSON(string(two[0].Payload), `{"about":"c1","note":null}`) || two[0].Metadata["ip"] != shred.Erased || two[0].Metadata["trace"] != "t" {
					t.Errorf("read: %s %s %v", one[0].Payload, two[0].Payload, two[0].Metadata)
				}
				if !sameJSON(string(two[1].Payload), `{"about":7,"note":"of another"}`) {
					t.Errorf("of another: %s", two[1].Payload)
				}
				var back registered
				w.must(json.Unmarshal(one[0].Payload, &back))
				for _, err := range s.Read(w.ctx, customer("1"), eventstore.Verified()) {
					w.must(err) // the chain covers the stored bytes
				}
			}
			w.saysNothing(adaSays)
			if at, err := eventstore.LoadAt(w.ctx, w.store, customer("1"), states, 1); err != nil || at.Read != 1 || strings.Contains(fmt.Sprint(at.State), "Lovelace") {
				t.Errorf("load at 1: %+v, %v", at, err)
			}
			again, err := w.keyStore.Erase(w.ctx, "c1")
			if err != nil || !again.Erased.Equal(receipt.Erased) || again.Snapshots != 0 {
				t.Errorf("again: %+v, %v", again, err)
			}
			if err := w.say(customer("3"), "Registered", ada); !errors.Is(err, shred.ErrErased) {
				t.Errorf("a new event about her: %v", err)
			}
			if _, err := w.keyStore.Erase(w.ctx, "nobody"); !errors.Is(err, table.ErrNotFound) {
				t.Errorf("nobody: %v", err)
			}
			for f, err := range fsck.Check(w.ctx, w.store, fsck.Options{}) {
				t.Errorf("%+v, %v", f, err)
			}
		})
	}
}

// A copy of the table, even with a previous version of the key item, reveals nothing without the
// master key.
func TestStolenTable(t *testing.T) {
	w := newWorld(t, eventstore.Options{})
	w.must(w.say(customer("1"), "Registered", ada))
	wrong := shred.Master{ID: "2026", Key: bytes.Repeat([]byte("x"), 32)}
	for _, s := range []*eventstore.Store{w.another(wrong), w.another(master("2027"))} {
		for _, err := range s.Read(w.ctx, customer("1")) {
			if !errors.Is(err, shred.ErrUnreadable) {
				t.Error(err)
			}
		}
	}
}

// A sealed value can be opened only where it was sealed.
func TestMovedSealedValue(t *testing.T) {
	move := func(from, to *eventstore.Event) { to.Payload = from.Payload }
	for name, forge := range map[string]func(a, b *eventstore.Event){
		"to another event": move,
		"to another field": func(a, _ *eventstore.Event) {
			a.Payload = bytes.Replace(bytes.Replace(bytes.Replace(a.Payload, []byte(`"name"`), []byte(`"x"`), 1), []byte(`"age"`), []byte(`"name"`), 1), []byte(`"x"`), []byte(`"age"`), 1)
		},
		"another type":  func(a, _ *eventstore.Event) { a.EventType = "Other" },
		"another event": func(a, _ *eventstore.Event) { a.EventID = "Other" },
		"another subject": func(a, _ *eventstore.Event) {
			a.Payload = bytes.ReplaceAll(a.Payload, []byte(`"by":"c1"`), []byte(`"by":"c2"`))
		},
		"no subject": func(a, _ *eventstore.Event) {
			a.Payload = bytes.ReplaceAll(a.Payload, []byte(`"by":"c1"`), []byte(`"by":"c9"`))
		},
		"another byte": func(a, _ *eventstore.Event) {
			i := bytes.Index(a.Payload, []byte(`"$sealed":"`)) + 30
			a.Payload[i] = map[bool]byte{true: 'B', false: 'A'}[a.Payload[i] == 'A']
		},
		"no box":      func(a, _ *eventstore.Event) { a.Payload = []byte(`{"name":"plain"}`) },
		"no contents": func(a, _ *eventstore.Event) { a.Metadata["$sealed"] = "{" },
		"lies":        func(a, _ *eventstore.Event) { a.Metadata["$sealed"] = `{"metadata":["none"]}` },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, eventstore.Options{})
			w.must(w.say(customer("1"), "Registered", ada))
			w.must(w.say(customer("1"), "Registered", strings.Replace(ada, "c1", "c2", 1)))
			var stored []eventstore.Event
			for e, err := range w.store.Read(w.ctx, customer("1"), eventstore.AsStored()) {
				w.must(err)
				stored = append(stored, e)
			}
			forge(&stored[0], &stored[1])
			for _, forged := range stored {
				eventstoretest.Tamper(w, w.table, customer("1"), forged.Seq, func(e *eventstore.Event) bool { *e = forged; return true })
			}
			var last error
			for _, err := range w.store.Read(w.ctx, customer("1")) {
				last = err
			}
			if !errors.Is(last, shred.ErrUnreadable) {
				t.Errorf("read: %v", last)
			}
		})
	}
}

// Events that cannot be sealed are not stored.
func TestRejectedEvents(t *testing.T) {
	w := newWorld(t, eventstore.Options{})
	for _, c := range []struct {
		eventType, payload string
		is                 error
		metadata           []string
	}{
		{"Registered", `{"name":"Ada"}`, shred.ErrNoSubject, nil},
		{"Registered", `{"customerId":"","name":"Ada"}`, shred.ErrNoSubject, nil},
		{"Registered", `{"customerId":"a#b","name":"Ada"}`, shred.ErrNoSubject, nil},
		{"Registered", `{"customerId":{"x":1},"name":"Ada"}`, shred.ErrNoSubject, nil},
		{"Registered", `{"customerId":"` + strings.Repeat("x", 257) + `","name":"Ada"}`, shred.ErrNoSubject, nil},
		{"Registered", `{"customerId":"c","address":"St James 12"}`, eventstore.ErrInvalid, nil},
		{"Registered", `{"customerId":"c","contacts":["a"]}`, eventstore.ErrInvalid, nil},
		{"Registered", `Ada`, eventstore.ErrInvalid, nil},
		{"Registered", `["Ada"]`, eventstore.ErrInvalid, nil},
		{"Registered", `{"name":"Ada"`, eventstore.ErrInvalid, nil},
		{"Noted", ``, shred.ErrNoSubject, []string{"ip", "::1"}},
		{"Other", `{}`, eventstore.ErrInvalid, []string{"$sealed", "x"}},
	} {
		if err := w.say(customer("1"), c.eventType, c.payload, c.metadata...); !errors.Is(err, c.is) {
			t.Errorf("%s %.80s: %v", c.eventType, c.payload, err)
		}
	}
	if n := len(w.read(w.store, customer("1"))); n != 0 {
		t.Errorf("%d events", n)
	}
	// Events without personal data are stored as given.
	for _, payload := range []string{`{"customerId": "c", "name":null, "contacts":[]}`, `{"plan":"x"}`, ``, `null`} {
		w.must(w.say(customer("1"), "Registered", payload))
	}
	w.must(w.say(customer("1"), "Free", `{"$sealed":"eA==","by":"c1","as":"text"}`))
	for i, e := range w.read(w.store, customer("1")) {
		if want := []string{`{"customerId": "c", "name":null, "contacts":[]}`, `{"plan":"x"}`, ``, `null`, `{"$sealed":"eA==","by":"c1","as":"text"}`}[i]; string(e.Payload) != want {
			t.Errorf("%q, want %q", e.Payload, want)
		}
	}
}

func TestSeveralSubjects(t *testing.T) {
	w := newWorld(t, eventstore.Options{})
	w.must(w.say(customer("1"), "Paired", `{"a":{"id":"a","name":"Annabelle Lee"},"b":{"id":"b","name":"Bob the Builder"}}`))
	if !w.snapshot(w.store, customer("1")) {
		t.Fatal("no snapshot")
	}
	_, err := w.keyStore.Erase(w.ctx, "a")
	w.must(err)
	if have := string(w.read(w.store, customer("1"))[0].Payload); !sameJSON(have, `{"a":{"id":"a","name":"[forgotten]"},"b":{"id":"b","name":"Bob the Builder"}}`) {
		t.Error(have)
	}
	// A snapshot may be made again when no process can remember her.
	if w.snapshot(w.store, customer("1")) {
		t.Error("a snapshot is made while others may remember")
	}
	w.db.Advance(5 * time.Minute)
	if !w.snapshot(w.store, customer("1")) {
		t.Error("no snapshot is made any more")
	}
	w.saysNothing([]string{"Annabelle Lee", "Bob the Builder"})
	if ids, err := w.keyStore.Aggregates(w.ctx, "b"); err != nil || fmt.Sprint(ids) != "[customer/1]" {
		t.Error(ids, err)
	}
}

// A state that was loaded before its subject was forgotten is not saved afterwards.
func TestStateLoadedBeforeErasure(t *testing.T) {
	w := newWorld(t, eventstore.Options{})
	w.must(w.say(customer("1"), "Registered", ada))
	before, err := eventstore.Load(w.ctx, w.store, customer("1"), states)
	w.must(err)
	_, err = w.keyStore.Erase(w.ctx, "c1")
	w.must(err)
	w.db.Advance(time.Hour)
	if saved, err := eventstore.SaveSnapshot(w.ctx, w.store, states, before); saved || err != nil {
		t.Errorf("saved %v, %v", saved, err)
	}
	w.saysNothing(adaSays)
}

func TestRewrap(t *testing.T) {
	w := newWorld(t, eventstore.Options{})
	for n := range 20 {
		w.must(w.say(customer(fmt.Sprint(n)), "Registered", strings.Replace(ada, "c1", fmt.Sprint("c", n), 1)))
	}
	_, err := w.keyStore.Erase(w.ctx, "c3")
	w.must(err)
	if n, err := w.newKeyStore(master("3 new"), master("2026")).Rewrap(w.ctx); n != 19 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := w.newKeyStore(master("3 new")).Rewrap(w.ctx); n != 0 || err != nil {
		t.Errorf("again: %d, %v", n, err)
	}
	s := w.another(master("3 new"))
	for n := range 20 {
		if have := string(w.read(s, customer(fmt.Sprint(n)))[0].Payload); strings.Contains(have, "Lovelace") == (n == 3) {
			t.Errorf("%d: %s", n, have)
		}
	}
}

func TestDeclarations(t *testing.T) {
	type node struct {
		Who  string  `personal:"subject"`
		Name *string `personal:"yes"`
		Kids []*node // a recursive type
		Tags map[string]struct {
			T string `personal:"yes"`
		}
	}
	p, err := shred.Of[node]("E")
	if want := "{E Who [Name Tags.*.T] []}"; err != nil || fmt.Sprint(p) != want {
		t.Errorf("%v, want %s: %v", p, want, err)
	}
	type twice struct {
		A string `personal:"subject"`
		B string `personal:"subject"`
	}
	type odd struct {
		A string `personal:"maybe"`
	}
	type none struct{ A string }
	for name, of := range map[string]func(string) (shred.Personal, error){"twice": shred.Of[twice], "odd": shred.Of[odd], "none": shred.Of[none], "text": shred.Of[string]} {
		if _, err := of("E"); !errors.Is(err, eventstore.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	w := newWorld(t, eventstore.Options{})
	good := []shred.Master{master("m")}
	for name, o := range map[string]shred.Options{
		"no master":      {},
		"short master":   {Masters: []shred.Master{{ID: "m", Key: []byte("short")}}},
		"two masters":    {Masters: []shred.Master{master("m"), master("m")}},
		"no name":        {Masters: []shred.Master{{Key: bytes.Repeat([]byte("x"), 32)}}},
		"negative":       {Masters: good, Keys: -1},
		"empty path":     {Masters: good, Personal: []shred.Personal{{Event: "E", Subject: "s", Fields: []string{"a..b"}}}},
		"no subject":     {Masters: good, Personal: []shred.Personal{{Event: "E", Fields: []string{"a"}}}},
		"any subject":    {Masters: good, Personal: []shred.Personal{{Event: "E", Subject: "a.*", Fields: []string{"a"}}}},
		"sealed subject": {Masters: good, Personal: []shred.Personal{{Event: "E", Subject: "a.b", Fields: []string{"a"}}}},
		"no event":       {Masters: good, Personal: []shred.Personal{{Subject: "s", Fields: []string{"a"}}}},
	} {
		if _, err := shred.New(w.table, o); !errors.Is(err, eventstore.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whatever fails while a person is being forgotten, repeating it completes it. Before that, nothing
// is reported as finished.
func TestEraseFails(t *testing.T) {
	for _, effect := range []enginetest.Effect{enginetest.Fail, enginetest.LoseAnswer, enginetest.Throttle} {
		for nth := 1; nth < 12; nth++ {
			w := newWorld(t, eventstore.Options{})
			w.must(w.say(customer("1"), "Registered", ada))
			w.must(w.say(customer("2"), "Registered", ada))
			w.snapshot(w.store, customer("2"))
			w.db.Inject(enginetest.Fault{Effect: effect, Nth: nth})
			_, err := w.keyStore.Erase(w.ctx, "c1")
			w.db.Heal()
			if err != nil {
				receipt, err := w.keyStore.Erase(w.ctx, "c1")
				if err != nil || len(receipt.Aggregates) != 2 {
					t.Fatalf("effect %v, request %d: %+v, %v", effect, nth, receipt, err)
				}
			}
			s, err := shred.Subjects.Get(w.ctx, w.table, shred.SubjectKey{Subject: "c1"})
			if err != nil || len(s.Wrapped) > 0 || s.Remade.IsZero() || s.Aggregates != 2 {
				t.Errorf("effect %v, request %d: %+v, %v", effect, nth, s, err)
			}
			if _, err := eventstore.Snapshots.Get(w.ctx, w.table, eventstore.SnapshotKey{ID: customer("2")}); !errors.Is(err, table.ErrNotFound) {
				t.Errorf("effect %v, request %d: the snapshot: %v", effect, nth, err)
			}
		}
	}
}

// Writers, makers of snapshots and readers run in several processes while a person is forgotten.
// Afterwards, nobody can read anything about her.
func TestEraseRaces(t *testing.T) { seeds.Run(t, 1, eraseRaces) }

func eraseRaces(t *testing.T, seed uint64) {
	for round := range 10 {
		w := newWorld(t, eventstore.Options{})
		stores := []*eventstore.Store{w.store, w.another(master("2026")), w.another(master("2026"))}
		w.must(w.say(customer("0"), "Registered", ada))
		var all sync.WaitGroup
		for n, s := range stores {
			all.Go(func() {
				r := rand.New(rand.NewPCG(seed, uint64(round*10+n)))
				for range 20 {
					id := customer(fmt.Sprint(r.IntN(4)))
					_, err := s.Append(w.ctx, id, eventstore.Any(), []eventstore.NewEvent{{Type: "Registered", Payload: []byte(ada)}, {Type: "Other"}})
					if err != nil && !errors.Is(err, shred.ErrErased) && !errors.Is(err, eventstore.ErrBusy) {
						t.Error(err)
					}
					at, err := eventstore.Load(w.ctx, s, id, states)
					if err == nil && at.Version > 0 {
						_, err = eventstore.SaveSnapshot(w.ctx, s, states, at)
					}
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		_, err := w.keyStore.Erase(w.ctx, "c1")
		w.must(err)
		all.Wait()
		w.db.Advance(time.Hour)
		for _, s := range append(stores, w.another(master("2026"))) {
			for n := range 4 {
				at, err := eventstore.Load(w.ctx, s, customer(fmt.Sprint(n)), states)
				if err != nil || strings.Contains(fmt.Sprint(at.State), "Lovelace") {
					t.Fatalf("round %d: %v, %v", round, at, err)
				}
			}
		}
		w.saysNothing(adaSays)
	}
}
