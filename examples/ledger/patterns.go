package ledger

import (
	"context"
	"time"

	"github.com/onefold/onefold/table"
)

// The loads are those of a million transfers a day, one in a thousand of which is reversed.

// GetAccount reads an account.
var GetAccount = table.NewGet[AccountKey](Accounts, table.GetDef{
	ID: "L1", Question: "an account", Load: table.Load{PerSecond: 25, Items: 1, ItemBytes: 120},
})

// GetTransfer reads a transfer.
var GetTransfer = table.NewGet[TransferKey](Transfers, table.GetDef{
	ID: "L2", Question: "a transfer", Load: table.Load{PerSecond: 2, Items: 1, ItemBytes: 250},
})

// StatementIn selects an account and the time [From, To). A zero end is open.
type StatementIn struct {
	Account string    `dynamodbav:"account"`
	From    time.Time `dynamodbav:"from"`
	To      time.Time `dynamodbav:"to"`
}

// StatementOf reads the statement of an account.
var StatementOf = table.NewQuery(Notices, table.QueryDef[StatementIn]{
	ID: "L3", Question: "the statement of an account, newest line first", From: "NOTICE#{from:ms}", To: "NOTICE#{to:ms}", Desc: true,
	Load: table.Load{PerSecond: 5, Items: 50, ItemBytes: 200},
})

// MakeTransfer documents Send.
var MakeTransfer = table.NewOperation(Transfers, table.OperationDef{
	ID: "L4", Question: "transfer money, once", Operation: "TransactWriteItems",
	Condition: "transfer: absent; from: open, with balance ≥ amount; to: open",
	Load:      table.Load{PerSecond: 11.6, Items: 3, ItemBytes: 250},
	Example: func(ctx context.Context, t *table.Table) error {
		_, err := Send(ctx, t, Transfer{TransferKey: TransferKey{"rent-2026-05"}, From: "account-1", To: "account-2", Amount: 1})
		return err
	},
})

// ReverseTransfer documents Reverse.
var ReverseTransfer = table.NewOperation(Transfers, table.OperationDef{
	ID: "L5", Question: "reverse a transfer, once", Operation: "TransactWriteItems",
	Condition: "transfer: posted; to: open, with balance ≥ amount; from: open",
	Load:      table.Load{PerSecond: 0.012, Items: 3, ItemBytes: 250},
	Example: func(ctx context.Context, t *table.Table) error {
		_, err := Reverse(ctx, t, TransferKey{"rent-2026-05"})
		return err
	},
})

// WriteNotice documents the writes of Notify.
var WriteNotice = table.NewCreate(Notices, table.CreateDef{
	ID: "L6", Question: "notify an account holder, once", Load: table.Load{PerSecond: 23.2, Items: 1, ItemBytes: 200},
})

// Schema is the schema of the table: entities and access patterns.
var Schema = table.MustSchema("ledger", GetAccount, GetTransfer, StatementOf, MakeTransfer, ReverseTransfer, WriteNotice)
