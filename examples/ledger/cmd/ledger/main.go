// Command ledger demonstrates the ledger. Without options it runs a short story in memory. With
// --data DIR, 32 concurrent clients send transfers, on a table in that directory. Kill it at any
// time and start it again: it continues, and verifies that no money was created or lost.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/examples/internal/printer"
	"github.com/onefold/onefold/examples/ledger"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/table"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "ledger:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	var s storm
	var data string
	flags := flag.NewFlagSet("ledger", flag.ContinueOnError)
	flags.StringVar(&data, "data", "", "directory of the table; empty: tell the story, in memory")
	flags.IntVar(&s.clients, "clients", 32, "clients that send at once, 1 to 1000")
	flags.IntVar(&s.each, "each", 100, "transfers of each client, 1 to 1000000")
	flags.IntVar(&s.accounts, "accounts", 10, "accounts, 2 to 1000")
	flags.Uint64Var(&s.seed, "seed", 1, "decides about accounts and amounts: the same transfers for the same seed")
	flags.BoolVar(&s.tell, "tell", false, "print the id of each transfer once it has happened")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if s.clients < 1 || s.clients > 1000 || s.each < 1 || s.each > 1_000_000 || s.accounts < 2 || s.accounts > 1000 {
		return errors.New("an option is out of range; see --help")
	}
	open := engine.OpenMemory
	if data != "" {
		open = func(o engine.Options) (*engine.DB, error) { return engine.Open(data, o) }
	}
	db, err := open(engine.Options{}) // or a *dynamodb.Client, and a client of its streams
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	b, err := newBank(ctx, db, data == "")
	if err != nil {
		return err
	}
	if data == "" {
		return b.story(ctx, out)
	}
	return s.run(ctx, b, out)
}

// bank is a ledger with the handler of its stream.
type bank struct {
	table  *table.Table
	worker *fold.Worker
}

func newBank(ctx context.Context, db *engine.DB, story bool) (*bank, error) {
	schema := table.MustSchema("bank", ledger.Schema, fold.Schema) // the handler's checkpoints are in the table too
	if err := schema.Ensure(ctx, db, "bank"); err != nil {
		return nil, err
	}
	var o table.Options
	if story {
		o.Clock = printer.Clock()
	}
	b := &bank{table: table.New(db, "bank", o)}
	arn, err := streamOf(ctx, db)
	if err == nil {
		b.worker, err = fold.NewWorker(b.table, streamsource.New(db, arn), []*fold.Fold{ledger.Notify()}, fold.Options{Group: "ledger"})
	}
	return b, err
}

// account opens an account unless it exists.
func (b *bank) account(ctx context.Context, name string, balance ledger.Cents) error {
	a := ledger.Account{AccountKey: ledger.AccountKey{Account: name}, Balance: balance, State: ledger.Open}
	err := ledger.Accounts.Create(ctx, b.table, &a)
	if errors.Is(err, table.ErrExists) {
		return nil
	}
	return err
}

func (b *bank) story(ctx context.Context, out io.Writer) error {
	if err := errors.Join(b.account(ctx, "ada", 100_00), b.account(ctx, "grace", 0)); err != nil {
		return err
	}
	tt := &printer.Printer{Out: out}
	rent := ledger.Transfer{TransferKey: ledger.TransferKey{TransferID: "rent-05"}, From: "ada", To: "grace", Amount: 60_00}
	send := func(what string, v ledger.Transfer) {
		if v, err := ledger.Send(ctx, b.table, v); err != nil {
			tt.Line(what, "%v", err)
		} else {
			tt.Line(what, "%s, sent %s", v.Status, v.PostedAt.Format("15:04"))
		}
	}
	send("ada sends 60.00", rent)
	send("the same again", rent)
	other := rent
	other.Amount = 61_00
	send("61.00, by the same id", other)
	other.TransferID = "rent-06"
	send("61.00, by another id", other)
	v, err := ledger.Reverse(ctx, b.table, rent.TransferKey)
	printer.One(tt, "it is taken back", v, err, func(v ledger.Transfer) string { return string(v.Status) + ", " + v.ReversedAt.Format("15:04") })
	send("sent once more", rent)
	if err := b.worker.Drain(ctx); err != nil {
		return err
	}
	for _, name := range []string{"ada", "grace"} {
		a, err := ledger.GetAccount.Get(ctx, b.table, ledger.AccountKey{Account: name})
		printer.One(tt, name+" has", a, err, func(a ledger.Account) string { return money(a.Balance) })
		printer.All(tt, "  was told", ledger.StatementOf.All(ctx, b.table, ledger.StatementIn{Account: name}), func(n ledger.Notice) string {
			return fmt.Sprintf("%s %s %s (%s)", n.TransferID, n.Status, money(n.Amount), n.Other)
		})
	}
	return tt.Err
}

func money(c ledger.Cents) string {
	sign := ""
	if c < 0 {
		sign, c = "-", -c
	}
	return fmt.Sprintf("%s%d.%02d", sign, c/100, c%100)
}
