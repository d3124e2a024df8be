package fold_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/table"
)

type customerKey struct {
	Region   string `dynamodbav:"region"`
	Customer string `dynamodbav:"customer"`
}

// customer is the total that a customer has ordered. Notes are padding.
type customer struct {
	customerKey
	Amount int    `dynamodbav:"amount"`
	Notes  string `dynamodbav:"notes"`
}

type customersKey struct {
	Region string `dynamodbav:"region"`
	Page   int    `dynamodbav:"page"`
}

type customerPage struct {
	customersKey
	fold.Page
}

var (
	customers     = table.Define[customer, customerKey]("test.customer", table.Def[customer]{PK: "REGION#{region}", SK: "CUSTOMER#{customer}"})
	customerPages = table.Define[customerPage, customersKey]("test.customers", table.Def[customerPage]{PK: "REGION#{region}", SK: "CUSTOMERS#{page:07}"})
	customerLog   = fold.NewStateLog(customers, customerPages, fold.LogDef[customer, customerPage]{
		Open: func(s *customer, n int, _ *customerPage) customerPage {
			return customerPage{customersKey: customersKey{s.Region, n}}
		},
		Note:   func(*customerPage, *customer, *customer) {},
		Append: func(buf []byte, s *customer) []byte { return fmt.Appendf(buf, "%d %s", s.Amount, s.Notes) },
		Read: func(b []byte, s *customer) error {
			amount, notes, _ := strings.Cut(string(b), " ")
			s.Notes = notes
			_, err := fmt.Sscan(amount, &s.Amount)
			return err
		},
		StateBytes: 100,
	})
)

// customersFold derives customers: the ID of an order is the customer's ID, and its amount is the
// customer's amount. Each customer gets notes with the given number of bytes.
func customersFold(notes int) *fold.Fold {
	return fold.New("customers", customers, func(into, d *customer) {
		into.Amount += d.Amount
		into.Notes = d.Notes
	}, fold.On(orders, func(c fold.Typed[order], at func(customerKey) *customer) error {
		if c.New == nil {
			return nil
		}
		s := at(customerKey{c.New.Region, c.New.ID})
		s.Amount += c.New.Amount
		s.Notes = noise(c.New.ID, notes)
		return nil
	})).With(fold.Logged(customerLog))
}

// noise returns text that does not compress well. The same name gives the same text.
func noise(name string, n int) string {
	r := rand.New(rand.NewPCG(uint64(len(name)), uint64(name[len(name)-1])))
	b := make([]byte, n)
	for i := range b {
		b[i] = 'a' + byte(r.IntN(26))
	}
	return string(b)
}

// followFold adds up the states in the log.
func followFold() *fold.Fold {
	return fold.New("world", worlds, func(into, d *world) {
		into.Regions += d.Regions
		into.Amount += d.Amount
	}, fold.OnEach(customerLog.Changes(), func(c *fold.Typed[customer], at func(worldKey) *world) error {
		s := at(worldKey{"all"})
		if c.Old != nil {
			s.Regions--
			s.Amount -= c.Old.Amount
		}
		if c.New != nil {
			s.Regions++
			s.Amount += c.New.Amount
		}
		return nil
	}))
}

func logWorker(t *testing.T, notes int) (*table.Table, *fold.Worker, *bench) {
	t.Helper()
	b := openEngine(t, engine.Options{})
	tab := b.table()
	return tab, newWorker(t, tab, streamsource.New(b.db, b.arn), fold.Options{}, customersFold(notes), followFold()), b
}

func loadCustomers(t *testing.T, tab *table.Table, ids ...string) []fold.Stored[customer] {
	t.Helper()
	keys := make([]customerKey, len(ids))
	for i, id := range ids {
		keys[i] = customerKey{"eu", id}
	}
	loaded, err := customerLog.Load(t.Context(), tab, keys, fails(t))
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// fails returns a callback for unreadable pages that fails the test, for tests in which every page
// must be readable.
func fails(t *testing.T) func(error) { return func(err error) { t.Helper(); t.Error(err) } }

func allOf(t *testing.T, tab *table.Table) world {
	t.Helper()
	w, err := worlds.Get(t.Context(), tab, worldKey{"all"})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestStatesInALog checks that states in a log are read, replaced and removed like items, and that
// folds that follow the log see each change.
func TestStatesInALog(t *testing.T) {
	tab, w, _ := logWorker(t, 0)
	put(t, tab, order{orderKey{"ann"}, "eu", 5}, order{orderKey{"bob"}, "eu", 7}, order{orderKey{"cyd"}, "us", 1})
	drain(t, w)
	put(t, tab, order{orderKey{"ann"}, "eu", 3})
	drain(t, w)
	got := loadCustomers(t, tab, "ann", "bob", "dan")
	if got[0].State.Amount != 8 || got[0].Version != 2 || got[1].State.Amount != 7 || got[1].Version != 1 || got[2].Version != 0 || got[2].State.Customer != "dan" {
		t.Errorf("loaded %+v", got)
	}
	if all := allOf(t, tab); all.Regions != 3 || all.Amount != 16 {
		t.Errorf("all add up to %+v", all)
	}
	replaced := customer{customerKey: customerKey{"eu", "ann"}, Amount: 100}
	changed, err := customerLog.Replace(t.Context(), tab, []fold.Replacement[customer, customerKey]{
		{Key: replaced.customerKey, State: &replaced, Version: 2},
		{Key: customerKey{"eu", "bob"}, Version: 1},
		{Key: customerKey{"us", "cyd"}, Version: 9},
	}, fails(t))
	if err != nil || len(changed) != 1 || changed[0].Customer != "cyd" {
		t.Fatalf("changed %v, %v", changed, err)
	}
	put(t, tab, order{orderKey{"ann"}, "eu", 1}, order{orderKey{"bob"}, "eu", 2}) // the worker has other states in memory
	drain(t, w)
	if got := loadCustomers(t, tab, "ann", "bob"); got[0].State.Amount != 101 || got[1].State.Amount != 2 {
		t.Errorf("after the replacement: %+v", got)
	}
	if all := allOf(t, tab); all.Regions != 3 || all.Amount != 104 {
		t.Errorf("all add up to %+v", all)
	}
	ann, err := customerLog.Get(t.Context(), tab, replaced.customerKey)
	if err != nil || ann.Amount != 101 {
		t.Errorf("%+v, %v", ann, err)
	}
	if _, err := customerLog.Get(t.Context(), tab, customerKey{"eu", "dan"}); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("a state that is not there: %v", err)
	}
}

// TestErasedStates checks that a removed state leaves the pages for good, and that no other
// state does. A state that was removed silently stays counted.
func TestErasedStates(t *testing.T) {
	tab, w, _ := logWorker(t, 0)
	for n := range 3 {
		put(t, tab, order{orderKey{"ann"}, "eu", 5 + n}, order{orderKey{"bob"}, "eu", 7 + n}, order{orderKey{"cyd"}, "eu", 1 + n})
		drain(t, w)
	}
	got := loadCustomers(t, tab, "ann", "bob")
	_, err := customerLog.Replace(t.Context(), tab, []fold.Replacement[customer, customerKey]{
		{Key: customerKey{"eu", "ann"}, Version: got[0].Version}, {Key: customerKey{"eu", "bob"}, Version: got[1].Version, Silent: true},
	}, fails(t))
	if err != nil {
		t.Fatal(err)
	}
	drain(t, w)
	if all := allOf(t, tab); all.Regions != 2 || all.Amount != 7+8+9+1+2+3 {
		t.Errorf("all add up to %+v", all)
	}
	keys := []customerKey{{"eu", "ann"}, {"eu", "bob"}, {"eu", "cyd"}}
	if err := customerLog.Erase(t.Context(), tab, keys, fails(t)); err != nil {
		t.Fatal(err)
	}
	drain(t, w)
	var traces, cyd int
	for _, p := range pagesOf(t, tab, "eu") {
		changes, err := customerLog.ChangesIn(&p)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range changes {
			for _, s := range []*customer{c.Before, c.After} {
				switch {
				case s != nil && s.Customer == "cyd":
					cyd++
				case s != nil:
					traces++
				}
			}
		}
	}
	if traces != 0 || cyd != 5 {
		t.Errorf("%d traces of the forgotten, %d of another", traces, cyd)
	}
	if all := allOf(t, tab); all.Regions != 2 || all.Amount != 30 {
		t.Errorf("all add up to %+v after forgetting", all)
	}
	put(t, tab, order{orderKey{"ann"}, "eu", 4})
	drain(t, w)
	if got := loadCustomers(t, tab, "ann", "bob", "cyd"); got[0].State.Amount != 4 || !got[1].Removed || got[2].State.Amount != 6 {
		t.Errorf("loaded %+v", got)
	}
}

func pagesOf(t *testing.T, tab *table.Table, region string) (pages []customerPage) {
	t.Helper()
	for n := range fold.MaxPage {
		p, err := customerPages.Get(t.Context(), tab, customersKey{region, n})
		if errors.Is(err, table.ErrNotFound) {
			return pages
		}
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, p)
	}
	return pages
}

// TestStatesOfManyPages checks that states that do not fit one page are spread over several. A
// state that fits no page goes to the dead letters and affects no other state.
func TestStatesOfManyPages(t *testing.T) {
	tab, w, _ := logWorker(t, 40<<10)
	var all []order
	for i := range 12 {
		all = append(all, order{orderKey{fmt.Sprint("customer-", string(rune('a'+i)))}, "eu", 1})
	}
	put(t, tab, all...)
	drain(t, w)
	if pages := pagesOf(t, tab, "eu"); len(pages) != 2 {
		t.Errorf("%d pages", len(pages))
	}
	if sum := allOf(t, tab); sum.Regions != 12 {
		t.Errorf("%+v", sum)
	}
	tab, w, _ = logWorker(t, 600<<10)
	put(t, tab, all[0])
	drain(t, w)
	if dead := deadLetters(t, tab, "customers"); len(dead) != 1 || !strings.Contains(dead[0].Reason, "too large") {
		t.Errorf("dead letters %+v", dead)
	}
}

// TestDamagedPage checks that a flipped bit in a page is detected and reported, and affects only
// that page.
func TestDamagedPage(t *testing.T) {
	tab, w, b := logWorker(t, 0)
	put(t, tab, order{orderKey{"ann"}, "eu", 5})
	drain(t, w)
	put(t, tab, order{orderKey{"bob"}, "eu", 7})
	drain(t, w)
	p := pagesOf(t, tab, "eu")[0]
	p.States[len(p.States)/2] ^= 4
	if err := customerPages.Put(t.Context(), tab, &p); err != nil {
		t.Fatal(err)
	}
	var damaged []error
	loaded, err := customerLog.Load(t.Context(), tab, []customerKey{{"eu", "ann"}, {"eu", "bob"}}, func(err error) { damaged = append(damaged, err) })
	if err != nil || len(damaged) != 1 || !errors.Is(damaged[0], fold.ErrPage) || loaded[0].Version != 0 || loaded[1].State.Amount != 7 {
		t.Errorf("loaded %+v, damaged %v, %v", loaded, damaged, err)
	}
	fresh := newWorker(t, tab, streamsource.New(b.db, b.arn), fold.Options{}, customersFold(0), followFold())
	put(t, tab, order{orderKey{"bob"}, "eu", 1}, order{orderKey{"cyd"}, "eu", 2})
	drain(t, fresh)
	if dead := deadLetters(t, tab, "customers"); len(dead) != 1 || dead[0].ItemSK != "CUSTOMERS#0000000" {
		t.Errorf("dead letters %+v", dead)
	}
	loaded, err = customerLog.Load(t.Context(), tab, []customerKey{{"eu", "bob"}, {"eu", "cyd"}}, func(error) {})
	if err != nil || loaded[0].State.Amount != 8 || loaded[1].State.Amount != 2 {
		t.Errorf("loaded %+v, %v", loaded, err)
	}
}

// TestPagesOfAnotherWriter checks that a worker sees a page that another writer has appended before
// it writes its next page. It must not use its in-memory copies of those states.
func TestPagesOfAnotherWriter(t *testing.T) {
	tab, w, _ := logWorker(t, 0)
	put(t, tab, order{orderKey{"ann"}, "eu", 5})
	drain(t, w)
	for n := range 5 {
		got := loadCustomers(t, tab, "ann")
		s := customer{customerKey: customerKey{"eu", "ann"}, Amount: got[0].State.Amount + 1000}
		if changed, err := customerLog.Replace(t.Context(), tab, []fold.Replacement[customer, customerKey]{{Key: s.customerKey, State: &s, Version: got[0].Version}}, fails(t)); err != nil || len(changed) > 0 {
			t.Fatal(changed, err)
		}
		put(t, tab, order{orderKey{"ann"}, "eu", 6 + n})
		drain(t, w)
	}
	if got := loadCustomers(t, tab, "ann"); got[0].State.Amount != 5+5000+6+7+8+9+10 {
		t.Errorf("%+v", got)
	}
	if n := w.Status().Conflicts; n != 5 {
		t.Errorf("%d conflicts", n)
	}
}
