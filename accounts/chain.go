package accounts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/internal/backoff"
	"github.com/onefold/onefold/table"
)

// The entries of the record are a chain: each has a number and the hash of the entry before, and an item of its own says where the
// chain ends. An entry and the chain's new end are written in one transaction, on condition that the end is still what the
// entry was made for. So of writers who meet at the end one succeeds, the others begin again, and there is no fork. docs/format/audit.md
// specifies what is hashed.

const (
	// maxAhead is how far the clock of the chain's last entry may be ahead of a writer's for the writer to take it over, so that the order of the
	// entries' ids is that of the chain. Were it further ahead, one wrong clock would set the time of all entries after it.
	maxAhead = 10 * time.Minute
	// chainAttempts bounds how often a writer begins again: with 16 writers, each always ready, one waits for some twenty others.
	chainAttempts = 64
	maxPause      = 64 * time.Millisecond
)

// Sum is the hash of an entry, SHA-256 in hexadecimal digits, of all that it holds. Each field is written as its length in bytes, a
// colon, its bytes and a line feed.
func (e *Entry) Sum() string {
	h := sha256.New()
	write := func(fields ...string) {
		for _, field := range fields {
			fmt.Fprintf(h, "%d:%s\n", len(field), field)
		}
	}
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	write("onefold audit 1", number(e.Seq), e.Prev, e.PrevID, e.Month, e.EntryID, e.Actor, e.Action, e.Site, e.Subject, number(e.Expires.Unix()), number(int64(e.Omitted)), number(int64(len(e.Changes))))
	for _, c := range e.Changes {
		write(c.Field, c.Before, c.After, strconv.FormatBool(c.Hidden), strconv.FormatBool(c.Cut))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Point is a place in the chain, as people note it: the entry's number, a colon, and its hash.
func (h *ChainHead) Point() string {
	if h.Seq == 0 {
		return ""
	}
	return fmt.Sprintf("%d:%s", h.Seq, h.Hash)
}

// Head is where the record ends; zero when it has no entry. Whoever notes its Point elsewhere can check later that it is still in
// the chain.
func (s *Store) Head(ctx context.Context) (ChainHead, error) {
	head, err := HeadOfRecord.Get(ctx, s.t, HeadKey{})
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return ChainHead{}, fmt.Errorf("accounts: the record's end: %w", err)
	}
	return head, nil
}

// append adds an entry to the chain. Errors: table.ErrCondition and table.ErrConflict when others were faster each time.
func (s *Store) append(ctx context.Context, e *Entry) error {
	select { // the writers of one process would only be in each other's way
	case s.recording <- struct{}{}:
		defer func() { <-s.recording }()
	case <-ctx.Done():
		return ctx.Err()
	}
	longest := time.Millisecond
	var err error
	for range chainAttempts {
		if err = s.tryAppend(ctx, e); !errors.Is(err, table.ErrCondition) && !errors.Is(err, table.ErrConflict) && !errors.Is(err, table.ErrExists) {
			return err
		}
		if stopped := backoff.For(ctx, rand.N(longest)); stopped != nil {
			return stopped
		}
		longest = min(2*longest, maxPause)
	}
	return err
}

// tryAppend gives the transaction a token: it is one transaction also if it is sent again because its answer was lost.
func (s *Store) tryAppend(ctx context.Context, e *Entry) error {
	head, err := s.Head(ctx)
	if err != nil {
		return err
	}
	at := s.now().UTC()
	if ahead := head.Latest.Sub(at); ahead > 0 && ahead <= maxAhead {
		at = head.Latest
	}
	id, err := nextID(at, head.LastID)
	if err != nil {
		return err
	}
	at = ulid.Time(id.Time()).UTC()
	e.EntryKey = EntryKey{at.Format(monthLayout), id.String()}
	e.Expires = at.Add(keepEntries).Truncate(time.Second)
	e.Seq, e.Prev, e.PrevID = head.Seq+1, head.Hash, head.LastID
	next := ChainHead{Seq: e.Seq, Hash: e.Sum(), LastID: e.EntryID, Began: head.Began, Latest: head.Latest}
	if head.Seq == 0 {
		next.Began = at
	}
	if at.After(next.Latest) {
		next.Latest = at
	}
	tx := table.NewTx(s.t, ulid.Make().String())
	if head.Seq == 0 {
		Heads.TxPut(tx, &next, headHash.Missing())
	} else {
		Heads.TxPut(tx, &next, headHash.Eq(head.Hash))
	}
	Entries.TxCreate(tx, e)
	return tx.Commit(ctx)
}

// nextID is an id of a time that is greater than the one before, if that is of the same millisecond.
func nextID(at time.Time, before string) (ulid.ULID, error) {
	last, err := ulid.ParseStrict(before)
	if err != nil || last.Time() != ulid.Timestamp(at) {
		return ulid.New(ulid.Timestamp(at), ulid.DefaultEntropy())
	}
	for i := len(last) - 1; i >= 0; i-- { // after 2^80 entries of one millisecond it is the next one's
		if last[i]++; last[i] != 0 {
			break
		}
	}
	return last, nil
}
