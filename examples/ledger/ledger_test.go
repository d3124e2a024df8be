package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/examples/ledger"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/table"
)

// bank is a ledger in memory.
type bank struct {
	*testing.T
	db    *enginetest.DB
	table *table.Table
	had   map[string]ledger.Cents // opening balances
}

func open(t *testing.T, options ...enginetest.Option) *bank {
	t.Helper()
	db := enginetest.New(t, options...)
	b := &bank{t, db, table.New(db, "bank", table.Options{Clock: db.Now}), map[string]ledger.Cents{}}
	b.must(ledger.Schema.Ensure(t.Context(), db, "bank"))
	return b
}

func (b *bank) must(err error) {
	if err != nil {
		b.Helper()
		b.Fatal(err)
	}
}

func (b *bank) account(name string, balance ledger.Cents) {
	b.Helper()
	b.must(ledger.Accounts.Create(b.Context(), b.table, &ledger.Account{AccountKey: ledger.AccountKey{Account: name}, Balance: balance, State: ledger.Open}))
	b.had[name] = balance
}

func transfer(id, from, to string, amount ledger.Cents) ledger.Transfer {
	return ledger.Transfer{TransferKey: key(id), From: from, To: to, Amount: amount}
}

func key(id string) ledger.TransferKey { return ledger.TransferKey{TransferID: id} }

func (b *bank) send(id, from, to string, amount ledger.Cents) error {
	_, err := ledger.Send(b.Context(), b.table, transfer(id, from, to, amount))
	return err
}

// balances lists the balances of accounts, ordered by name.
func (b *bank) balances() string {
	b.Helper()
	var all []string
	for name := range b.had {
		a, err := ledger.GetAccount.Get(b.Context(), b.table, ledger.AccountKey{Account: name})
		b.must(err)
		all = append(all, fmt.Sprintf("%s %d", name, a.Balance))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func (b *bank) worker(o fold.Options, folds ...*fold.Fold) *fold.Worker {
	b.Helper()
	d, err := b.db.DescribeTable(b.Context(), &dynamodb.DescribeTableInput{TableName: ptr("bank")})
	b.must(err)
	o.Logger = slog.New(slog.DiscardHandler)
	w, err := fold.NewWorker(b.table, streamsource.New(b.db, *d.Table.LatestStreamArn), folds, o)
	b.must(err)
	return w
}

func ptr[T any](v T) *T { return &v }

// balanced checks the invariants: the sum of money is unchanged, no account is overdrawn, and each
// balance equals the sum of its statement.
func (b *bank) balanced() {
	b.Helper()
	var before, now ledger.Cents
	for name, had := range b.had {
		a, err := ledger.GetAccount.Get(b.Context(), b.table, ledger.AccountKey{Account: name})
		b.must(err)
		statement := had
		for n, err := range ledger.StatementOf.All(b.Context(), b.table, ledger.StatementIn{Account: name}) {
			b.must(err)
			statement += n.Amount
		}
		if a.Balance < 0 || a.Balance != statement {
			b.Errorf("account %s has %d, by its statement %d", name, a.Balance, statement)
		}
		before, now = before+had, now+a.Balance
	}
	if before != now {
		b.Errorf("accounts had %d together and have %d", before, now)
	}
}

func TestSend(t *testing.T) {
	b := open(t)
	b.account("ada", 100)
	b.account("grace", 0)
	b.account("rich", ledger.MaxBalance)
	b.account("cold", 50)
	b.must(ledger.Freeze(t.Context(), b.table, ledger.AccountKey{Account: "cold"}))
	for _, c := range []struct {
		id, from, to string
		amount       ledger.Cents
		want         error
		then         string
	}{
		{"1", "ada", "grace", 60, nil, "ada 40, cold 50, grace 60"},
		{"1", "ada", "grace", 60, nil, "ada 40, cold 50, grace 60"},
		{"1", "ada", "grace", 61, ledger.ErrOther, "ada 40, cold 50, grace 60"},
		{"1", "grace", "ada", 60, ledger.ErrOther, "ada 40, cold 50, grace 60"},
		{"2", "ada", "grace", 41, ledger.ErrFunds, "ada 40, cold 50, grace 60"},
		{"2", "ada", "grace", 40, nil, "ada 0, cold 50, grace 100"}, // the rejected transfer does not exist
		{"1", "ada", "grace", 60, nil, "ada 0, cold 50, grace 100"}, // although the balance no longer allows it
		{"3", "ada", "nobody", 1, ledger.ErrFunds, "ada 0, cold 50, grace 100"},
		{"3", "grace", "nobody", 1, ledger.ErrNoAccount, "ada 0, cold 50, grace 100"},
		{"3", "nobody", "grace", 1, ledger.ErrNoAccount, "ada 0, cold 50, grace 100"},
		{"3", "cold", "grace", 1, ledger.ErrFrozen, "ada 0, cold 50, grace 100"},
		{"3", "grace", "cold", 1, ledger.ErrFrozen, "ada 0, cold 50, grace 100"},
		{"3", "grace", "rich", 1, ledger.ErrFull, "ada 0, cold 50, grace 100"},
		{"3", "grace", "grace", 1, ledger.ErrInvalid, "ada 0, cold 50, grace 100"},
		{"3", "grace", "ada", 0, ledger.ErrInvalid, "ada 0, cold 50, grace 100"},
		{"3", "grace", "ada", -5, ledger.ErrInvalid, "ada 0, cold 50, grace 100"},
		{"3", "grace", "ada", ledger.MaxBalance + 1, ledger.ErrInvalid, "ada 0, cold 50, grace 100"},
		{"", "grace", "ada", 1, ledger.ErrInvalid, "ada 0, cold 50, grace 100"},
		{"3#4", "grace", "ada", 1, ledger.ErrInvalid, "ada 0, cold 50, grace 100"},
		{strings.Repeat("x", 37), "grace", "ada", 1, ledger.ErrInvalid, "ada 0, cold 50, grace 100"},
		{"3", "grace", "a#b", 1, table.ErrKeyValue, "ada 0, cold 50, grace 100"},
		{"3", "", "grace", 1, table.ErrKeyEmpty, "ada 0, cold 50, grace 100"},
	} {
		b.db.Advance(time.Second)
		if err := b.send(c.id, c.from, c.to, c.amount); !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: %d from %s to %s: error %v, want %v", c.id, c.amount, c.from, c.to, err, c.want)
		}
		if got := b.balances(); got != c.then+fmt.Sprintf(", rich %d", ledger.MaxBalance) {
			t.Errorf("after %s of %d: %s, want %s", c.id, c.amount, got, c.then)
		}
	}
	b.must(ledger.Thaw(t.Context(), b.table, ledger.AccountKey{Account: "cold"}))
	b.must(b.send("3", "grace", "cold", 1))
}

// The first result of a transfer is returned again, ten minutes and ten years later.
func TestSendAgain(t *testing.T) {
	b := open(t)
	b.account("ada", 100)
	b.account("grace", 0)
	first, err := ledger.Send(t.Context(), b.table, transfer("1", "ada", "grace", 60))
	b.must(err)
	for _, later := range []time.Duration{0, time.Minute, 20 * time.Minute, 87600 * time.Hour} {
		b.db.Advance(later)
		again, err := ledger.Send(t.Context(), b.table, transfer("1", "ada", "grace", 60))
		if err != nil || again != first {
			t.Errorf("%v later: %+v, %v; first it was %+v", later, again, err, first)
		}
	}
	if got := b.balances(); got != "ada 40, grace 60" {
		t.Error(got)
	}
}

func TestReverse(t *testing.T) {
	b := open(t)
	b.account("ada", 100)
	b.account("grace", 0)
	b.account("bob", 0)
	b.must(b.send("1", "ada", "grace", 60))
	b.must(b.send("2", "grace", "bob", 20))
	if _, err := ledger.Reverse(t.Context(), b.table, key("1")); !errors.Is(err, ledger.ErrFunds) {
		t.Errorf("what was spent: error %v", err)
	}
	for range 2 { // the second time changes nothing
		b.db.Advance(time.Hour)
		v, err := ledger.Reverse(t.Context(), b.table, key("2"))
		if err != nil || v.Status != ledger.Reversed || v.ReversedAt.Sub(v.PostedAt) != time.Hour {
			t.Errorf("reversed: %+v, %v", v, err)
		}
	}
	if _, err := ledger.Reverse(t.Context(), b.table, key("1")); err != nil {
		t.Error(err)
	}
	if v, err := ledger.Send(t.Context(), b.table, transfer("2", "grace", "bob", 20)); err != nil || v.Status != ledger.Reversed {
		t.Errorf("sent again, it is %+v, %v", v, err)
	}
	if _, err := ledger.Reverse(t.Context(), b.table, key("3")); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("of nothing: error %v", err)
	}
	if got := b.balances(); got != "ada 100, bob 0, grace 0" {
		t.Error(got)
	}
}

// Holders get notices when a transfer is inserted and when its status changes, and no others.
func TestNotify(t *testing.T) {
	b := open(t)
	b.account("ada", 100)
	b.account("grace", 0)
	b.must(b.send("1", "ada", "grace", 60))
	if err := b.send("2", "ada", "grace", 60); !errors.Is(err, ledger.ErrFunds) {
		t.Fatal(err)
	}
	b.db.Advance(time.Hour)
	if _, err := ledger.Reverse(t.Context(), b.table, key("1")); err != nil {
		t.Fatal(err)
	}
	b.must(b.send("3", "ada", "grace", 5))
	v, err := ledger.Transfers.Get(t.Context(), b.table, key("3"))
	b.must(err)
	b.must(ledger.Transfers.Put(t.Context(), b.table, &v)) // nothing changes
	b.must(b.worker(fold.Options{}, ledger.Notify()).Drain(t.Context()))
	var told []string
	for _, of := range []string{"ada", "grace"} {
		for n, err := range ledger.StatementOf.All(t.Context(), b.table, ledger.StatementIn{Account: of}) {
			b.must(err)
			told = append(told, fmt.Sprintf("%s %s %s %d %s", of, n.TransferID, n.Status, n.Amount, n.Other))
		}
	}
	want := []string{
		"ada 1 reversed 60 grace", "ada 3 posted -5 grace", "ada 1 posted -60 grace",
		"grace 1 reversed -60 ada", "grace 3 posted 5 ada", "grace 1 posted 60 ada",
	}
	if !slices.Equal(told, want) {
		t.Errorf("holders were told\n%s\nwant\n%s", strings.Join(told, "\n"), strings.Join(want, "\n"))
	}
	hour := ledger.StatementIn{Account: "ada", From: b.db.Now(), To: b.db.Now().Add(time.Minute)}
	if n, err := ledger.StatementOf.Collect(t.Context(), b.table, hour); err != nil || len(n) != 2 {
		t.Errorf("the statement of the second hour is %+v, %v", n, err)
	}
	b.balanced()
}

// 32 clients send on a store that throttles, loses responses and causes conflicts, while several
// handlers read the stream concurrently. The sum of money is unchanged, no account is overdrawn,
// and every notice exists once.
func TestManyClients(t *testing.T) {
	const clients, each, accounts = 32, 12, 6
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	b := open(t, enginetest.RollShards(50))
	for n := range accounts {
		b.account(fmt.Sprint("a", n), 20_00)
	}
	o := fold.Options{Clock: time.Now, Refresh: time.Millisecond, FlushChanges: 40, PageSize: 20, Sleep: func(context.Context, time.Duration) error { return t.Context().Err() }}
	handlers := []*fold.Worker{b.worker(o, ledger.Notify()), b.worker(o, ledger.Notify()), b.worker(o, ledger.Notify())}
	b.db.Inject(
		enginetest.Fault{Effect: enginetest.LoseAnswer, Writes: true, Every: 23},
		enginetest.Fault{Effect: enginetest.Throttle, Every: 31},
		enginetest.Fault{Effect: enginetest.Conflict, Op: "TransactWriteItems", Every: 29},
	)
	var wait sync.WaitGroup
	for c := range clients {
		wait.Go(func() { b.client(c, each, accounts, rand.New(rand.NewPCG(seed, uint64(c)))) })
	}
	for _, w := range handlers { // concurrently on one stream
		wait.Go(func() {
			for range 4 {
				_ = w.Drain(t.Context()) // with faults it may give up; the next one continues from the checkpoint
			}
		})
	}
	wait.Wait()
	b.db.Heal()
	b.must(b.worker(fold.Options{}, ledger.Notify()).Drain(t.Context()))
	b.balanced()
}

// client sends transfers and reverses some. It repeats each until the result is known.
func (b *bank) client(c, each, accounts int, random *rand.Rand) {
	for n := range each {
		from := random.IntN(accounts)
		to := (from + 1 + random.IntN(accounts-1)) % accounts
		v := transfer(fmt.Sprintf("%d-%d", c, n), fmt.Sprint("a", from), fmt.Sprint("a", to), ledger.Cents(1+random.IntN(15_00)))
		reverse := random.IntN(4) == 0
		sent := b.until(func() error {
			_, err := ledger.Send(b.Context(), b.table, v)
			return err
		})
		if sent && reverse {
			b.until(func() error {
				_, err := ledger.Reverse(b.Context(), b.table, v.TransferKey)
				return err
			})
		}
	}
}

// until repeats do after errors of the store, and reports whether it happened. Otherwise the
// balance was insufficient.
func (b *bank) until(do func() error) bool {
	for range 1000 {
		err := do()
		switch {
		case err == nil:
			return true
		case errors.Is(err, ledger.ErrFunds):
			return false
		case errors.Is(err, table.ErrConflict), errors.Is(err, table.ErrThrottled), dynamo.IsThrottle(err), dynamo.Code(err) == "InternalServerError":
		default:
			b.Errorf("error %v", err)
			return false
		}
	}
	b.Error("a transfer failed 1000 times")
	return false
}
