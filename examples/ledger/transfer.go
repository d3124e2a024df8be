package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/onefold/onefold/table"
)

var (
	// ErrInvalid is returned for an invalid transfer: without an ID of at most 36 characters,
	// without an amount, or from an account to itself.
	ErrInvalid = errors.New("ledger: invalid transfer")
	// ErrNoAccount is returned if one of the accounts does not exist.
	ErrNoAccount = errors.New("ledger: there is no such account")
	// ErrFunds is returned if the balance is less than the amount.
	ErrFunds = errors.New("ledger: insufficient funds")
	// ErrFrozen is returned if one of the accounts is frozen.
	ErrFrozen = errors.New("ledger: the account is frozen")
	// ErrFull is returned if a balance would exceed MaxBalance.
	ErrFull = errors.New("ledger: the account cannot hold that much")
	// ErrOther is returned if the ID belongs to a transfer with other accounts or another amount.
	ErrOther = errors.New("ledger: the ID belongs to another transfer")
)

// maxID is the maximum length of a transaction's token.
const maxID = 36

// Send moves an amount between two accounts, and returns the stored transfer. It sets Status and
// PostedAt.
//
// If the result of a Send is unknown, send again: a transfer with the same ID, accounts and amount
// happens once, forever. The first result is returned, even if the transfer was reversed since. A
// rejected transfer may be sent again too. Errors: ErrInvalid, ErrNoAccount, ErrFunds, ErrFrozen,
// ErrFull, ErrOther, and those of table.Tx.
func Send(ctx context.Context, t *table.Table, v Transfer) (Transfer, error) {
	if err := check(&v); err != nil {
		return v, err
	}
	v.Status, v.PostedAt = Posted, t.Now()
	tx := table.NewTx(t, v.TransferID)
	Transfers.TxCreate(tx, &v)
	move(tx, v.From, v.To, v.Amount)
	err := tx.Commit(ctx)
	if err == nil {
		return v, nil
	}
	// The ID may be in use by an attempt whose response was lost. This is checked even if another
	// condition failed, since conditions may no longer hold. A repeated token with another PostedAt
	// is rejected as a whole.
	before, getErr := GetTransfer.Get(ctx, t, v.TransferKey)
	switch {
	case errors.Is(getErr, table.ErrNotFound):
		return v, refusal(err, v.Amount)
	case getErr != nil:
		return v, errors.Join(err, getErr)
	case before.From != v.From || before.To != v.To || before.Amount != v.Amount:
		return before, fmt.Errorf("%w: %s", ErrOther, v.TransferID)
	}
	return before, nil
}

func check(v *Transfer) error {
	switch {
	case v.TransferID == "" || len(v.TransferID) > maxID || strings.Contains(v.TransferID, "#"):
		return fmt.Errorf("%w: an ID must have 1 to %d characters without '#'", ErrInvalid, maxID)
	case v.Amount <= 0 || v.Amount > MaxBalance:
		return fmt.Errorf("%w: amount %d: use 1 to %d", ErrInvalid, v.Amount, MaxBalance)
	case v.From == v.To:
		return fmt.Errorf("%w: from %s to itself", ErrInvalid, v.From)
	}
	return nil
}

// move adds the updates of both accounts to a transaction. It does not read them before, so two
// transfers of one account conflict only if they run at the same moment.
func move(tx *table.Tx, from, to string, amount Cents) {
	Accounts.TxPatch(tx, AccountKey{from}, table.Add(balance, -amount), table.If[Account](balance.Ge(amount)), table.If[Account](state.Eq(Open)))
	Accounts.TxPatch(tx, AccountKey{to}, table.Add(balance, amount), table.If[Account](balance.Le(MaxBalance-amount)), table.If[Account](state.Eq(Open)))
}

// Reverse reverses a transfer once. The amount goes back, or ErrFunds is returned if the receiver
// no longer has it. A transfer that was already reversed is returned unchanged. Errors:
// table.ErrNotFound, and those of Send.
func Reverse(ctx context.Context, t *table.Table, k TransferKey) (Transfer, error) {
	v, err := GetTransfer.Get(ctx, t, k)
	if err != nil || v.Status == Reversed {
		return v, err
	}
	tx := table.NewTx(t, "")
	Transfers.TxPatch(tx, k, transferStatus.Set(Reversed), reversedAt.Set(t.Now()), table.If[Transfer](transferStatus.Eq(Posted)))
	move(tx, v.To, v.From, v.Amount)
	failed := tx.Commit(ctx)
	if v, err = GetTransfer.Get(ctx, t, k); err == nil && v.Status != Reversed {
		err = refusal(failed, v.Amount)
	}
	return v, err
}

// Freeze blocks an account in both directions. Errors: table.ErrNotFound.
func Freeze(ctx context.Context, t *table.Table, k AccountKey) error {
	_, err := Accounts.Patch(ctx, t, k, state.Set(Frozen))
	return err
}

// Thaw unblocks an account. Errors: table.ErrNotFound.
func Thaw(ctx context.Context, t *table.Table, k AccountKey) error {
	_, err := Accounts.Patch(ctx, t, k, state.Set(Open))
	return err
}

// refusal converts the error of a transaction.
func refusal(err error, amount Cents) error {
	var of *table.TxError
	switch {
	case !errors.As(err, &of):
		return err
	case errors.Is(err, table.ErrNotFound):
		return fmt.Errorf("%w: %s", ErrNoAccount, of.Key)
	case !errors.Is(err, table.ErrCondition):
		return err
	}
	a, decodeErr := Accounts.Decode(of.Item)
	switch {
	case decodeErr != nil:
		return errors.Join(err, decodeErr)
	case a.State != Open:
		return fmt.Errorf("%w: %s", ErrFrozen, a.Account)
	case a.Balance < amount:
		return fmt.Errorf("%w: %s", ErrFunds, a.Account)
	}
	return fmt.Errorf("%w: %s", ErrFull, a.Account)
}
