package accounts

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/table"
)

// upgradeTime is how long after the chain began servers of a version without a chain may still have
// made entries.
const upgradeTime = 24 * time.Hour

// maxOutOfOrder is the maximum number of entries that are fetched one by one because a clock was
// wrong when they were made.
const maxOutOfOrder = 10_000

// Verified is the result of a check of the audit record.
type Verified struct {
	Entries int64  // number of entries of the chain that were checked
	Older   int64  // number of entries from versions without a chain
	First   int64  // number of the first entry that is kept; earlier ones have expired; 0 if there is none
	Head    string // the end of the chain, as ChainHead.Point
	Noted   Noted  // result for the noted position
	Damage  *Damage
}

// Whole reports whether the record is undamaged and contains the noted position, as far as can be
// determined.
func (v *Verified) Whole() bool { return v.Damage == nil && v.Noted != Missing }

// Noted says whether a position that was noted earlier is in the chain.
type Noted string

// Results for a noted position.
const (
	NotAsked Noted = ""
	Found    Noted = "found"
	Missing  Noted = "missing" // the entry differs or does not exist
	Expired  Noted = "expired" // the entry is older than what is kept
)

// Damage describes the first entry that does not fit the chain.
type Damage struct {
	Seq     int64     `json:"seq" doc:"Its number, or the expected one."`
	EntryID string    `json:"id,omitempty"` // "" if unknown
	At      time.Time `json:"at,omitzero" doc:"When it was made, if known."`
	Code    string    `json:"code" enum:"missing,changed,inserted,unchained,truncated,no_head"`
	Detail  string    `json:"detail"`
}

var pointForm = regexp.MustCompile(`^[1-9][0-9]{0,17}:[0-9a-f]{64}$`)

// Verify checks the whole audit log: no entry has been changed, removed, inserted or moved. Entries
// appended while it runs are checked only if it reads them.
//
// noted is a position that somebody wrote down earlier, in the form of ChainHead.Point; Verify
// reports whether the log still contains it. Empty means none.
//
// Damage is described in the result and is not an error. Errors: ErrInvalid if noted is malformed;
// those of the store.
func (s *Store) Verify(ctx context.Context, noted string) (Verified, error) {
	if noted != "" && !pointForm.MatchString(noted) {
		return Verified{}, fmt.Errorf("%w: head: use one as `onefold audit verify` prints it, such as 41:9f86d081…", ErrInvalid)
	}
	head, err := s.Head(ctx)
	if err != nil {
		return Verified{}, err
	}
	v := &verifier{s: s, head: head, next: 1, now: s.now(), ahead: map[string]bool{}}
	v.result.Head = head.Point()
	v.note(noted)
	for e, err := range s.entries(ctx, head) {
		if err == nil {
			err = v.entry(ctx, &e)
		}
		if err != nil {
			return Verified{}, err
		}
		if v.result.Damage != nil {
			return v.result, nil
		}
	}
	if v.next-1 > head.Seq { // they were added since, or not by this package
		if head, err = s.Head(ctx); err != nil {
			return Verified{}, err
		}
	}
	v.end(head)
	return v.result, nil
}

// entries reads the entries of all months that can have some, oldest first.
func (s *Store) entries(ctx context.Context, head ChainHead) func(func(Entry, error) bool) {
	from, to := s.now().Add(-keepEntries), s.now()
	if head.Latest.After(to) {
		to = head.Latest
	}
	return s.entriesOfMonths(ctx, from, to.Add(maxAhead))
}

type verifier struct {
	s      *Store
	head   ChainHead
	now    time.Time
	next   int64  // number of the expected entry
	hash   string // hash of the previous entry; "" if it has expired or there is none
	noted  int64
	point  string
	ahead  map[string]bool // IDs of entries that were checked out of order
	result Verified
}

func (v *verifier) note(point string) {
	if point == "" {
		return
	}
	number, _, _ := strings.Cut(point, ":")
	v.noted, _ = strconv.ParseInt(number, 10, 64) // the format was checked before
	v.point, v.result.Noted = point, Missing
}

// entry checks the next entry in the order of IDs. If entries before it in the chain have not been
// seen yet, they are fetched: a wrong clock gave them later IDs.
func (v *verifier) entry(ctx context.Context, e *Entry) error {
	switch {
	case v.ahead[e.EntryID]:
		return nil
	case e.Seq == 0:
		v.unchained(e)
		return nil
	case e.Seq < v.next:
		v.damaged(e, "inserted", fmt.Sprintf("entry %d occurs twice, or is in the wrong place", e.Seq))
		return nil
	}
	waiting := []Entry{*e}
	for last := e; last.Seq > v.next; last = &waiting[len(waiting)-1] {
		before, found, err := v.before(ctx, last)
		if err != nil {
			return err
		}
		if !found {
			break
		}
		if len(waiting) == maxOutOfOrder || before.Seq != last.Seq-1 {
			v.damaged(&before, "changed", fmt.Sprintf("entry %d is in the place of entry %d", before.Seq, last.Seq-1))
			return nil
		}
		v.ahead[before.EntryID] = true
		waiting = append(waiting, before)
	}
	for i := len(waiting) - 1; i >= 0 && v.result.Damage == nil; i-- {
		v.link(&waiting[i], i == len(waiting)-1)
	}
	return nil
}

// before fetches the entry before another one.
func (v *verifier) before(ctx context.Context, e *Entry) (before Entry, found bool, err error) {
	at := timeOf(e.PrevID)
	if at.IsZero() {
		return Entry{}, false, nil
	}
	before, err = EntryByID.Get(ctx, v.s.t, EntryKey{at.Format(monthLayout), e.PrevID})
	if errors.Is(err, table.ErrNotFound) {
		return Entry{}, false, nil
	}
	return before, err == nil, err
}

// link checks an entry against the previous one. The first entry of a run may follow entries that
// have expired.
func (v *verifier) link(e *Entry, first bool) {
	if e.Seq != v.next {
		if at := timeOf(e.PrevID); !first || at.IsZero() || at.Add(keepEntries).Truncate(time.Second).After(v.now) {
			v.result.Damage = &Damage{Seq: e.Seq - 1, EntryID: e.PrevID, At: at, Code: "missing", Detail: fmt.Sprintf("entries %d to %d are missing, although the last of them had not expired", v.next, e.Seq-1)}
			return
		}
		v.hash = e.Prev // the expired entry can no longer be checked
	}
	switch at := e.At(); {
	case e.Prev != v.hash:
		v.damaged(e, "changed", fmt.Sprintf("entry %d does not follow the previous entry: one of the two was changed or replaced", e.Seq))
		return
	case at.Format(monthLayout) != e.Month || !at.Add(keepEntries).Truncate(time.Second).Equal(e.Expires):
		v.damaged(e, "changed", fmt.Sprintf("entry %d has a month or expiry that does not match its time", e.Seq))
		return
	}
	v.hash = e.Sum()
	if v.result.First == 0 {
		v.result.First = e.Seq
	}
	v.result.Entries++
	v.next = e.Seq + 1
	if e.Seq == v.noted && fmt.Sprintf("%d:%s", e.Seq, v.hash) == v.point {
		v.result.Noted = Found
	}
	if e.Seq == v.head.Seq && v.hash != v.head.Hash {
		v.damaged(e, "changed", fmt.Sprintf("entry %d is not the entry that the chain ended with: it was changed", e.Seq))
	}
}

// unchained checks an entry without a place in the chain. Only earlier versions made such entries.
func (v *verifier) unchained(e *Entry) {
	if at := e.At(); at.IsZero() || v.head.Seq > 0 && at.After(v.head.Began.Add(upgradeTime)) {
		v.damaged(e, "unchained", "an entry without a place in the chain was made after the chain began")
		return
	}
	v.result.Older++
}

// end checks that the chain is as long as its head says. The head was read after all entries.
func (v *verifier) end(now ChainHead) {
	r := &v.result
	last := timeOf(v.head.LastID)
	switch {
	case v.head.Seq == 0 && r.Entries > 0:
		r.Damage = &Damage{Seq: v.next - 1, Code: "no_head", Detail: "there are entries, but no record of where the chain ends"}
	case v.head.Seq > 0 && (v.next-1 > now.Seq || v.next-1 == now.Seq && v.hash != now.Hash):
		r.Damage = &Damage{Seq: v.next - 1, Code: "inserted", Detail: fmt.Sprintf("entry %d is not the one that the chain ends with", v.next-1)}
	case v.next <= v.head.Seq && last.Add(keepEntries).Truncate(time.Second).After(v.now):
		r.Damage = &Damage{Seq: v.next, Code: "truncated", Detail: fmt.Sprintf("the last entries, %d to %d, are missing", v.next, v.head.Seq)}
	}
	if r.Noted == Missing && v.noted < max(r.First, v.emptyFirst()) {
		r.Noted = Expired
	}
}

// emptyFirst returns the number of the first entry after a record whose entries have all expired,
// or 0 if some have not.
func (v *verifier) emptyFirst() int64 {
	if v.result.First != 0 {
		return 0
	}
	return v.head.Seq + 1
}

func (v *verifier) damaged(e *Entry, code, detail string) {
	v.result.Damage = &Damage{Seq: e.Seq, EntryID: e.EntryID, At: e.At(), Code: code, Detail: detail}
}

// timeOf returns when the entry with an ID was made, or the zero time for an invalid ID.
func timeOf(id string) time.Time {
	parsed, err := ulid.ParseStrict(id)
	if err != nil {
		return time.Time{}
	}
	return ulid.Time(parsed.Time()).UTC()
}
