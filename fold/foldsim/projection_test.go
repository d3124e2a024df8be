package foldsim_test

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"testing"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldsim"
	"github.com/onefold/onefold/table"
)

// In this scenario accounts have events, each event in its own partition, so that the stream
// delivers them in any order.

type EntryKey struct {
	Account string `dynamodbav:"account"`
	Seq     int64  `dynamodbav:"seq"`
}

type Entry struct {
	EntryKey
	Amount int `dynamodbav:"amount"`
}

type AccountKey struct {
	Account string `dynamodbav:"account"`
}

// Account has a state that depends on the order of its entries.
type Account struct {
	AccountKey
	Entries int64  `dynamodbav:"entries"`
	History string `dynamodbav:"history"`
}

var (
	entries  = table.Define[Entry, EntryKey]("test.entry", table.Def[Entry]{PK: "ENTRY#{account}#{seq:04}", SK: "ENTRY"})
	accounts = table.Define[Account, AccountKey]("test.account", table.Def[Account]{PK: "ACCOUNT#{account}", SK: "ACCOUNT"})
)

func projectAccounts() *fold.Fold {
	return fold.Project("accounts", entries, accounts, fold.Projection[Entry, Account, AccountKey]{
		Key: func(e *Entry) AccountKey { return AccountKey{e.Account} },
		Seq: func(e *Entry) int64 { return e.Seq },
		Apply: func(a *Account, e *Entry) error {
			a.Entries++
			a.History += fmt.Sprintf(" %d", e.Amount)
			if e.Amount == unlucky {
				return errUnlucky
			}
			return nil
		},
		Missing: func(ctx context.Context, t *table.Table, e *Entry, after int64) iter.Seq2[Entry, error] {
			return func(yield func(Entry, error) bool) {
				var keys []EntryKey
				for seq := after + 1; seq < e.Seq; seq++ {
					keys = append(keys, EntryKey{e.Account, seq})
				}
				found, err := entries.GetMany(ctx, t, keys)
				if err != nil {
					yield(Entry{}, err)
					return
				}
				for _, f := range found {
					if !yield(f, nil) {
						return
					}
				}
			}
		},
	})
}

func appendEntry(w *foldsim.World) {
	account := fmt.Sprint("a", w.Rand.IntN(3))
	seq := int64(1)
	for w.Get(must(entries.Key(EntryKey{account, seq}))) != nil {
		seq++
	}
	amount := w.Rand.IntN(100)
	if amount == unlucky && w.Rand.IntN(10) > 0 {
		amount++
	}
	w.Put(must(entries.Encode(&Entry{EntryKey: EntryKey{account, seq}, Amount: amount})))
}

// checkAccounts recomputes the accounts by hand, up to the first entry that cannot be applied.
func checkAccounts(w *foldsim.World) error {
	want, stuck := make(map[string]Account), make(map[string]bool)
	for _, h := range w.History() {
		e := must(entries.Decode(h.Item))
		a := want[e.Account]
		stuck[e.Account] = stuck[e.Account] || e.Amount == unlucky
		if stuck[e.Account] {
			continue
		}
		a.Account = e.Account
		a.Entries++
		a.History += fmt.Sprintf(" %d", e.Amount)
		want[e.Account] = a
	}
	maps.DeleteFunc(want, func(_ string, a Account) bool { return a.Entries == 0 })
	return same(w, accounts, want, func(a Account) string { return a.Account })
}

func TestProjectionsAreInOrder(t *testing.T) {
	t.Parallel()
	foldsim.Test(t, foldsim.Scenario{
		Folds: []*fold.Fold{projectAccounts()}, Write: appendEntry, Check: checkAccounts,
	}, 150)
}
