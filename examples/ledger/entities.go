package ledger

import (
	"time"

	"github.com/onefold/onefold/table"
)

// Cents is money, in hundredths.
type Cents int64

// MaxBalance bounds an account, and Transfer's amounts.
const MaxBalance = Cents(1_000_000_000_000_00)

// AccountKey names an account.
type AccountKey struct {
	Account string `dynamodbav:"account"`
}

// State says whether an account moves.
type State string

// The states of an account.
const (
	Open   State = "open"
	Frozen State = "frozen"
)

// Account holds money.
type Account struct {
	AccountKey
	Balance Cents `dynamodbav:"balance"`
	State   State `dynamodbav:"state"`
}

// Accounts are written by transfers alone once they are there.
var Accounts = table.Define[Account, AccountKey]("ledger.account", table.Def[Account]{
	PK: "ACCOUNT#{account}", SK: "ACCOUNT#{account}",
	Doc:     "what somebody has",
	Example: func(a *Account) { a.Balance, a.State = 100_00, Open },
})

var (
	balance = table.FieldOf(Accounts, func(a *Account) *Cents { return &a.Balance })
	state   = table.FieldOf(Accounts, func(a *Account) *State { return &a.State })
)

// TransferKey names a transfer: with one id, in both keys, so that it can be read back and is there once.
type TransferKey struct {
	TransferID string `dynamodbav:"transferId"`
}

// Status is how far a transfer has come.
type Status string

// The statuses of a transfer.
const (
	Posted   Status = "posted"
	Reversed Status = "reversed"
)

// Transfer is money that went from one account to another.
type Transfer struct {
	TransferKey
	From       string    `dynamodbav:"from"`
	To         string    `dynamodbav:"to"`
	Amount     Cents     `dynamodbav:"amount"`
	Status     Status    `dynamodbav:"status"`
	PostedAt   time.Time `dynamodbav:"postedAt"`
	ReversedAt time.Time `dynamodbav:"reversedAt,omitempty"`
}

// Transfers stand by themselves: a hot account is no hot partition of its transfers.
var Transfers = table.Define[Transfer, TransferKey]("ledger.transfer", table.Def[Transfer]{
	PK: "TRANSFER#{transferId}", SK: "TRANSFER#{transferId}",
	Doc: "money that went from one account to another",
	Example: func(t *Transfer) {
		t.From, t.To, t.Amount, t.Status = "account-1", "account-2", 12_50, Posted
	},
})

var (
	transferStatus = table.FieldOf(Transfers, func(t *Transfer) *Status { return &t.Status })
	reversedAt     = table.FieldOf(Transfers, func(t *Transfer) *time.Time { return &t.ReversedAt })
)

// NoticeKey names what the holder of an account was told.
type NoticeKey struct {
	Account    string    `dynamodbav:"account"`
	At         time.Time `dynamodbav:"at"`
	Status     Status    `dynamodbav:"status"`
	TransferID string    `dynamodbav:"transferId"`
}

// Notice is what the holder of an account was told: a line of the account's statement.
type Notice struct {
	NoticeKey
	Amount Cents  `dynamodbav:"amount"` // what the account got; negative: what it gave
	Other  string `dynamodbav:"other"`  // the other account
}

// Notices stand beside their account, in the order of time.
var Notices = table.Define[Notice, NoticeKey]("ledger.notice", table.Def[Notice]{
	PK: "ACCOUNT#{account}", SK: "NOTICE#{at:ms}#{status}#{transferId}", Immutable: true,
	Doc:     "what the holder of an account was told: a line of its statement",
	Example: func(n *Notice) { n.Amount, n.Other, n.Status = -12_50, "account-2", Posted },
})
