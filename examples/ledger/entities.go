package ledger

import (
	"time"

	"github.com/onefold/onefold/table"
)

// Cents is an amount of money in hundredths.
type Cents int64

// MaxBalance is the maximum balance of an account, and the maximum amount of a transfer.
const MaxBalance = Cents(1_000_000_000_000_00)

// AccountKey is the key of an account.
type AccountKey struct {
	Account string `dynamodbav:"account"`
}

// State is the state of an account.
type State string

// The states of an account.
const (
	Open   State = "open"
	Frozen State = "frozen"
)

// Account is an account with its balance.
type Account struct {
	AccountKey
	Balance Cents `dynamodbav:"balance"`
	State   State `dynamodbav:"state"`
}

// Accounts are changed only by transfers, Freeze and Thaw after they are created.
var Accounts = table.Define[Account, AccountKey]("ledger.account", table.Def[Account]{
	PK: "ACCOUNT#{account}", SK: "ACCOUNT#{account}",
	Doc:     "an account with its balance",
	Example: func(a *Account) { a.Balance, a.State = 100_00, Open },
})

var (
	balance = table.FieldOf(Accounts, func(a *Account) *Cents { return &a.Balance })
	state   = table.FieldOf(Accounts, func(a *Account) *State { return &a.State })
)

// TransferKey is the key of a transfer. Both key attributes contain the ID, so that a transfer can
// be read by its ID and exists once.
type TransferKey struct {
	TransferID string `dynamodbav:"transferId"`
}

// Status is the status of a transfer.
type Status string

// The statuses of a transfer.
const (
	Posted   Status = "posted"
	Reversed Status = "reversed"
)

// Transfer moves money from one account to another.
type Transfer struct {
	TransferKey
	From       string    `dynamodbav:"from"`
	To         string    `dynamodbav:"to"`
	Amount     Cents     `dynamodbav:"amount"`
	Status     Status    `dynamodbav:"status"`
	PostedAt   time.Time `dynamodbav:"postedAt"`
	ReversedAt time.Time `dynamodbav:"reversedAt,omitempty"`
}

// Transfers have partition keys of their own, so the transfers of a busy account do not make a hot
// partition.
var Transfers = table.Define[Transfer, TransferKey]("ledger.transfer", table.Def[Transfer]{
	PK: "TRANSFER#{transferId}", SK: "TRANSFER#{transferId}",
	Doc: "a transfer from one account to another",
	Example: func(t *Transfer) {
		t.From, t.To, t.Amount, t.Status = "account-1", "account-2", 12_50, Posted
	},
})

var (
	transferStatus = table.FieldOf(Transfers, func(t *Transfer) *Status { return &t.Status })
	reversedAt     = table.FieldOf(Transfers, func(t *Transfer) *time.Time { return &t.ReversedAt })
)

// NoticeKey is the key of a notice.
type NoticeKey struct {
	Account    string    `dynamodbav:"account"`
	At         time.Time `dynamodbav:"at"`
	Status     Status    `dynamodbav:"status"`
	TransferID string    `dynamodbav:"transferId"`
}

// Notice is a notice to the holder of an account: a line of the account's statement.
type Notice struct {
	NoticeKey
	Amount Cents  `dynamodbav:"amount"` // amount received; negative: sent
	Other  string `dynamodbav:"other"`  // the other account
}

// Notices are in the partition of their account, ordered by time.
var Notices = table.Define[Notice, NoticeKey]("ledger.notice", table.Def[Notice]{
	PK: "ACCOUNT#{account}", SK: "NOTICE#{at:ms}#{status}#{transferId}", Immutable: true,
	Doc:     "a notice to the holder of an account: a line of its statement",
	Example: func(n *Notice) { n.Amount, n.Other, n.Status = -12_50, "account-2", Posted },
})
