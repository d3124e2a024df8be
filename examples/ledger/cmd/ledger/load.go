package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/examples/ledger"
	"github.com/onefold/onefold/table"
)

// streamOf returns the ARN of the table's stream.
func streamOf(ctx context.Context, db *engine.DB) (string, error) {
	name := "bank"
	d, err := db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	if err != nil {
		return "", err
	}
	return *d.Table.LatestStreamArn, nil
}

// opening is the opening balance of an account.
const opening = ledger.Cents(1000_00)

// storm is many clients that send transfers concurrently.
type storm struct {
	clients, each, accounts int
	seed                    uint64
	tell                    bool

	mu       sync.Mutex // guards the fields below and the output
	happened int
	refused  int
}

// run sends all transfers, including those of an earlier run again, and verifies the result.
func (s *storm) run(ctx context.Context, b *bank, out io.Writer) error {
	for n := range s.accounts {
		if err := b.account(ctx, account(n), opening); err != nil {
			return err
		}
	}
	var wait sync.WaitGroup
	errs := make([]error, s.clients)
	for c := range s.clients {
		wait.Go(func() { errs[c] = s.client(ctx, b, c, out) })
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := b.worker.Drain(ctx); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d clients sent %d transfers: %d have happened, %d were refused for want of funds\n",
		s.clients, s.clients*s.each, s.happened, s.refused)
	return b.check(ctx, s.accounts, out)
}

func account(n int) string { return fmt.Sprint("account-", n) }

// client sends the transfers of one client in sequence.
func (s *storm) client(ctx context.Context, b *bank, c int, out io.Writer) error {
	random := rand.New(rand.NewPCG(s.seed, uint64(c)))
	for n := range s.each {
		from := random.IntN(s.accounts)
		to := (from + 1 + random.IntN(s.accounts-1)) % s.accounts
		v := ledger.Transfer{TransferKey: ledger.TransferKey{TransferID: fmt.Sprintf("%d-%d-%d", s.seed, c, n)},
			From: account(from), To: account(to), Amount: ledger.Cents(1 + random.IntN(500_00))}
		err := send(ctx, b.table, v)
		s.mu.Lock()
		switch {
		case err == nil:
			s.happened++
			if s.tell {
				_, err = fmt.Fprintln(out, v.TransferID)
			}
		case errors.Is(err, ledger.ErrFunds):
			s.refused++
			err = nil
		}
		s.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// attempts bounds how often a transfer is sent that conflicts with others on its accounts.
const attempts = 20

func send(ctx context.Context, t *table.Table, v ledger.Transfer) (err error) {
	for range attempts {
		if _, err = ledger.Send(ctx, t, v); !errors.Is(err, table.ErrConflict) && !dynamo.IsThrottle(err) {
			return err
		}
	}
	return err
}

// errUnbalanced is returned if the balances are wrong.
var errUnbalanced = errors.New("the accounts do not add up")

// check verifies the sum of balances, and each balance against its statement.
func (b *bank) check(ctx context.Context, accounts int, out io.Writer) error {
	var sum ledger.Cents
	lines := 0
	for n := range accounts {
		a, err := ledger.GetAccount.Get(ctx, b.table, ledger.AccountKey{Account: account(n)})
		if err != nil {
			return err
		}
		statement := opening
		for notice, err := range ledger.StatementOf.All(ctx, b.table, ledger.StatementIn{Account: a.Account}) {
			if err != nil {
				return err
			}
			statement += notice.Amount
			lines++
		}
		if a.Balance < 0 || a.Balance != statement {
			return fmt.Errorf("%w: %s has a balance of %s, but its statement adds up to %s", errUnbalanced, a.Account, money(a.Balance), money(statement))
		}
		sum += a.Balance
	}
	if want := ledger.Cents(accounts) * opening; sum != want {
		return fmt.Errorf("%w: their total is %s, not %s", errUnbalanced, money(sum), money(want))
	}
	_, err := fmt.Fprintf(out, "%d accounts have %s together, as at the start; none is overdrawn; each is what its statement says, in %d lines\n",
		accounts, money(sum), lines)
	return err
}
