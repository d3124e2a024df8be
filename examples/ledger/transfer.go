package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/onefold/onefold/table"
)

var (
	// ErrInvalid is returned for a transfer that cannot be: without an id of at most 36 characters, of nothing, to itself.
	ErrInvalid = errors.New("ledger: invalid transfer")
	// ErrNoAccount is returned when one of the accounts is not there.
	ErrNoAccount = errors.New("ledger: there is no such account")
	// ErrFunds is returned when an account has less than the amount.
	ErrFunds = errors.New("ledger: insufficient funds")
	// ErrFrozen is returned when one of the accounts does not move.
	ErrFrozen = errors.New("ledger: the account is frozen")
	// ErrFull is returned when an account would have more than MaxBalance.
	ErrFull = errors.New("ledger: the account cannot hold that much")
	// ErrOther is returned when the id belongs to another transfer: from, to or amount differ.
	ErrOther = errors.New("ledger: the id belongs to another transfer")
)

// maxID is the most characters that a transaction's token has.
const maxID = 36

// Send moves an amount between two accounts, and returns the transfer as it is stored. It sets Status and PostedAt.
//
// Whoever does not know whether a Send happened sends again: the same id with the same accounts and amount happens once,
// for ever, and the first result comes back, also when it was reversed since. What was refused may be sent again, too.
// Errors: ErrInvalid, ErrNoAccount, ErrFunds, ErrFrozen, ErrFull, ErrOther, and those of table.Tx.
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
	// The id may be taken: by an attempt whose answer was lost, also when another condition does not hold any more. A repeated
	// token with another PostedAt is refused as a whole.
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
		return fmt.Errorf("%w: an id has 1 to %d characters, none of them '#'", ErrInvalid, maxID)
	case v.Amount <= 0 || v.Amount > MaxBalance:
		return fmt.Errorf("%w: %d is no amount: 1 to %d", ErrInvalid, v.Amount, MaxBalance)
	case v.From == v.To:
		return fmt.Errorf("%w: from %s to itself", ErrInvalid, v.From)
	}
	return nil
}

// move adds both accounts to a transaction: neither is read before, so two transfers of one account do not disturb each
// other unless they are at it in the same moment.
func move(tx *table.Tx, from, to string, amount Cents) {
	Accounts.TxPatch(tx, AccountKey{from}, table.Add(balance, -amount), table.If[Account](balance.Ge(amount)), table.If[Account](state.Eq(Open)))
	Accounts.TxPatch(tx, AccountKey{to}, table.Add(balance, amount), table.If[Account](balance.Le(MaxBalance-amount)), table.If[Account](state.Eq(Open)))
}

// Reverse takes a transfer back, once: what it moved goes back, or ErrFunds if it is not there any more. A transfer that
// was taken back before is returned as it is. Errors: table.ErrNotFound, and those of Send.
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

// Freeze stops an account, in both directions. Errors: table.ErrNotFound.
func Freeze(ctx context.Context, t *table.Table, k AccountKey) error {
	_, err := Accounts.Patch(ctx, t, k, state.Set(Frozen))
	return err
}

// Thaw lets an account move again. Errors: table.ErrNotFound.
func Thaw(ctx context.Context, t *table.Table, k AccountKey) error {
	_, err := Accounts.Patch(ctx, t, k, state.Set(Open))
	return err
}

// refusal says what a transaction's error means here.
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
