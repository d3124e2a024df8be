package events_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/shred"
	"github.com/onefold/onefold/internal/seeds"
	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
	"github.com/onefold/onefold/table"
)

// shops are the worlds of the suite: a server alone, and servers beside a program that appends with
// other options. own makes the options of the server's store, nil for its default; beside makes
// those of the other, nil for none.
var shops = map[string]struct {
	own    func(*testing.T, *table.Table) eventstore.Options
	beside *eventstore.Options
}{
	"alone":                          {nil, nil},
	"beside a program with options":  {nil, &eventstore.Options{Chain: true, TypeShards: 4}},
	"with options, beside a program": {everyOption, &eventstore.Options{}},
}

// everyOption encrypts personal data in events of people who registered.
func everyOption(t *testing.T, on *table.Table) eventstore.Options {
	p := shred.Personal{Event: "Registered", Subject: "who", Fields: []string{"name"}}
	servertest.Must(t, eventstore.DeclarePersonal(t.Context(), on, []eventstore.PersonalRule{{Event: p.Event, Subject: p.Subject, Fields: p.Fields}})) // before anybody appends, so that nobody waits
	k, err := shred.New(on, shred.Options{Masters: []shred.Master{{ID: "m", Key: bytes.Repeat([]byte("m"), 32)}}, Personal: []shred.Personal{p}})
	servertest.Must(t, err)
	return eventstore.Options{Chain: true, TypeShards: 3, Secrets: k.Secrets()}
}

// openShop opens one of the shops.
func openShop(t *testing.T, name string, change ...func(*server.Options)) *shop {
	t.Helper()
	is, own, other := shops[name], (*eventstore.Store)(nil), (*eventstore.Store)(nil)
	s := newShop(t, append(slices.Clone(change), func(o *server.Options) {
		options := eventstore.Options{}
		if is.own != nil {
			options = is.own(t, o.Table)
		}
		var err error
		own, err = eventstore.New(o.Table, options)
		servertest.Must(t, err)
		if is.own != nil {
			o.Events.Store = own
		}
		if is.beside != nil {
			other, err = eventstore.New(o.Table, *is.beside)
			servertest.Must(t, err)
		}
	})...)
	s.own, s.other = own, other
	return s
}

// inEveryShop runs a test of the suite in every world.
func inEveryShop(t *testing.T, test func(*shop), change ...func(*server.Options)) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(shops)) {
		t.Run(name, func(t *testing.T) { test(openShop(t, name, change...)) })
	}
}

// told holds the parts of an event that are compared.
type told struct {
	ID   string `json:"aggregateId"`
	Seq  int64
	Type string
	Data struct{ N int }
}

// pages reads a list to its end, page by page.
func (s *shop) pages(path, next string) (all []told) {
	s.Helper()
	for cursor := ""; ; {
		var page struct {
			Events  []told
			Cursor  string
			Through int64
			Tip     bool
		}
		servertest.Must(s.T, json.Unmarshal([]byte(s.owner.Want(200, "", "GET", path+"limit=7"+cursor, "")), &page))
		all = append(all, page.Events...)
		switch {
		case page.Tip || next == "cursor" && page.Cursor == "":
			return all
		case next == "cursor":
			cursor = "&cursor=" + url.QueryEscape(page.Cursor)
		default:
			cursor = fmt.Sprint("&after=", page.Through)
		}
	}
}

// Whatever a server and a program beside it append, in any order and with options unknown to each
// other, every route returns all of it, each event once, in the order of its stream.
func TestSecondWriter(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(shops)) {
		if shops[name].beside == nil {
			continue
		}
		seeds.Run(t, 3, func(t *testing.T, seed uint64) {
			t.Log(name)
			s, r := openShop(t, name), rand.New(rand.NewPCG(seed, 0))
			want, last := []told{}, map[string]int64{}
			for n := range 40 {
				e := told{ID: fmt.Sprint(r.IntN(6)), Type: []string{"Counted", "Paid"}[r.IntN(2)]}
				last[e.ID]++
				e.Seq, e.Data.N = last[e.ID], n
				s.turns = r.IntN(2) // who appends
				s.append(e.ID, fmt.Sprintf(`{"events":[{"type":%q,"data":{"n":%d}}]}`, e.Type, n))
				want = append(want, e)
			}
			servertest.Must(t, s.Worker.Drain(t.Context()))
			s.tellsAll(want)
		})
	}
}

// tellsAll compares what the routes return with what was appended. Within an aggregate the order is
// that of the appends, except for events of a type: different programs create their IDs, and no
// clock is exact to the millisecond.
func (s *shop) tellsAll(want []told) {
	s.Helper()
	same := func(what string, have []told, keep func(told) bool) {
		s.Helper()
		wanted := slices.DeleteFunc(slices.Clone(want), func(e told) bool { return !keep(e) })
		by := func(a, b told) int { return cmp.Compare(a.ID, b.ID) }
		if strings.HasPrefix(what, "of type") {
			by = func(a, b told) int { return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Seq, b.Seq)) }
		}
		slices.SortStableFunc(have, by)
		slices.SortStableFunc(wanted, by)
		if !slices.Equal(have, wanted) {
			s.Errorf("%s: %d events, want %d:\n%v\n%v", what, len(have), len(wanted), have, wanted)
		}
	}
	for _, kind := range []string{"Counted", "Paid"} {
		same("of type "+kind, s.pages("/api/v1/events/of-type/"+kind+"?", "cursor"), func(e told) bool { return e.Type == kind })
		same("feed of "+kind, s.pages("/api/v1/events/feed?eventType="+kind+"&", "through"), func(e told) bool { return e.Type == kind })
	}
	same("feed", s.pages("/api/v1/events/feed?", "through"), func(told) bool { return true })
	for id := range 6 {
		id := fmt.Sprint(id)
		var of struct{ Events []told }
		if !slices.ContainsFunc(want, func(e told) bool { return e.ID == id }) {
			continue
		}
		servertest.Must(s.T, json.Unmarshal([]byte(s.owner.Want(200, "", "GET", orders+"/"+id+"/events", "")), &of))
		for i := range of.Events {
			of.Events[i].ID = id
		}
		same("order "+id, of.Events, func(e told) bool { return e.ID == id })
	}
	s.owner.Want(200, fmt.Sprintf(`"events":%d,`, len(want)), "GET", "/api/v1/events/types", "")
}

// A commit ID identifies the same append whoever repeats it, and a conflict includes what the other
// has appended.
func TestSecondWriterRepeats(t *testing.T) {
	for name := range shops {
		if shops[name].beside == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			s, id := openShop(t, name), eventstore.ID{Type: "order", ID: "1"}
			said := []eventstore.NewEvent{{Type: "A", Payload: []byte(`{"n":1}`)}}
			other := func(commit string, expected eventstore.Expected) eventstore.Commit {
				t.Helper()
				c, err := s.other.Append(t.Context(), id, expected, said, eventstore.CommitID(commit))
				servertest.Must(t, err)
				return c
			}
			post := func(status int, says, commit string, expected int) {
				t.Helper()
				s.owner.Want(status, says, "POST", orders+"/1/events", fmt.Sprintf(`{"expected":%d,"commitId":%q,"events":[{"type":"A","data":{"n":1}}]}`, expected, commit))
			}
			post(201, `"version":1,"again":false`, "c1", 0)
			if c := other("c1", eventstore.NoStream()); !c.Again || c.Version != 1 {
				t.Errorf("what the server appended, repeated: %+v", c)
			}
			other("c2", eventstore.Exact(1))
			post(200, `"version":2,"again":true`, "c2", 1)
			post(409, `"since":[{"seq":2,`, "c3", 1)
			other("c3", eventstore.Exact(2))
			post(200, `"version":3,"again":true`, "c3", 2)
			s.owner.Want(200, `"version":3`, "GET", orders+"/1", "")
		})
	}
}

// A server whose store has the keys returns personal data wherever it returns events and states; a
// server without keys cannot.
func TestSealedEvents(t *testing.T) {
	s := openShop(t, "with options, beside a program")
	const said = `{"type":"Registered","data":{"who":"7","name":"Ada Lovelace"}}`
	s.owner.Want(201, "", "POST", orders+"/1/events", `{"events":[`+said+`]}`)
	_, err := s.other.Append(t.Context(), eventstore.ID{Type: "order", ID: "1"}, eventstore.Any(), []eventstore.NewEvent{{Type: "Registered", Payload: []byte(`{"who":"7","name":"Ada"}`)}})
	if !errors.Is(err, eventstore.ErrUnsealed) {
		t.Errorf("a program without keys: %v", err)
	}
	s.turns = 0
	s.append("1", `{"events":[{"type":"Paid"}]}`) // by the program, without personal data
	names := eventstore.Fold[string]{Version: 1, Apply: func(all string, e eventstore.Event) (string, error) { return all + string(e.Payload), nil }}
	at, err := eventstore.Load(t.Context(), s.own, eventstore.ID{Type: "order", ID: "1"}, names)
	servertest.Must(t, err)
	_, err = eventstore.SaveSnapshot(t.Context(), s.own, names, at)
	servertest.Must(t, err)
	servertest.Must(t, s.Worker.Drain(t.Context()))
	for _, path := range []string{orders + "/1/events", orders + "/1/export", orders + "/1/state", orders + "/1/snapshot", "/api/v1/events/of-type/Registered", "/api/v1/events/feed"} {
		s.owner.Want(200, "Ada Lovelace", "GET", path, "")
	}
	for e, err := range s.other.Read(t.Context(), eventstore.ID{Type: "order", ID: "1"}) {
		if err != nil || bytes.Contains(e.Payload, []byte("Ada")) {
			t.Errorf("a program without keys reads %s, %v", e.Payload, err)
		}
	}
	next, leave := s.tail("/api/v1/events/tail?after=0", s.keys[accounts.Read]...)
	defer leave()
	if have := next(); !strings.Contains(have, "Ada Lovelace") {
		t.Errorf("watched: %s", have)
	}
}
