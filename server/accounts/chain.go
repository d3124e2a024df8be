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

// The entries of the audit record form a chain: each has a number and the hash of the previous
// entry, and the head item has the end of the chain. An entry and the new head are written in one
// transaction, on condition that the head is unchanged. So of concurrent writers one succeeds and
// the others retry, and the chain cannot fork. docs/format/audit.md specifies what is hashed.

const (
	// maxAhead is how far the last entry's clock may be ahead for the next writer to take over its
	// time, so that entry IDs are ordered like the chain. If it is further ahead, its time is
	// ignored: otherwise one wrong clock would set the time of all later entries.
	maxAhead = 10 * time.Minute
	// chainAttempts is the maximum number of attempts to append: with 16 writers, each always
	// ready, a writer loses about twenty times.
	chainAttempts = 64
	maxPause      = 64 * time.Millisecond
)

// Sum returns the SHA-256 hash of all fields of an entry in hexadecimal. Each field is hashed as
// its length in bytes, a colon, its bytes and a line feed.
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

// Point returns a position in the chain in the form that people note: the entry's number, a colon,
// and its hash.
func (h *ChainHead) Point() string {
	if h.Seq == 0 {
		return ""
	}
	return fmt.Sprintf("%d:%s", h.Seq, h.Hash)
}

// Head returns the end of the record, or the zero value if the record is empty. Note its Point
// elsewhere to verify later that it is still in the chain.
func (s *Store) Head(ctx context.Context) (ChainHead, error) {
	head, err := HeadOfRecord.Get(ctx, s.t, HeadKey{})
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return ChainHead{}, fmt.Errorf("accounts: read the end of the audit record: %w", err)
	}
	return head, nil
}

// append adds an entry to the chain. Errors: table.ErrCondition and table.ErrConflict if other
// writers were faster in all attempts.
func (s *Store) append(ctx context.Context, e *Entry) error {
	select { // one writer per process at a time; more would only conflict
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

// tryAppend writes the entry and the head in one transaction. The transaction has a token, so that
// it takes effect once even if it is sent again because its response was lost.
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

// nextID returns an ID for a time. It is greater than the previous ID if that has the same
// millisecond.
func nextID(at time.Time, before string) (ulid.ULID, error) {
	last, err := ulid.ParseStrict(before)
	if err != nil || last.Time() != ulid.Timestamp(at) {
		return ulid.New(ulid.Timestamp(at), ulid.DefaultEntropy())
	}
	for i := len(last) - 1; i >= 0; i-- { // increment the ID; after 2^80 entries in one millisecond, it carries into the time
		if last[i]++; last[i] != 0 {
			break
		}
	}
	return last, nil
}
