package eventstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/table"
)

var (
	headState   = table.FieldOf(Heads, func(h *Head) *StreamState { return &h.State })
	headUpdated = table.FieldOf(Heads, func(h *Head) *time.Time { return &h.UpdatedAt })
	pageLast    = table.FieldOf(Pages, func(p *Page) *int64 { return &p.Last })
)

// longer is the condition on which a page is written.
func longer(p *Page) table.Cond { return table.Or(table.Absent(), pageLast.Le(p.Last)) }

// addTo adds the append to a transaction. The head comes first, because concurrent writers conflict
// on it.
func (a *appending) addTo(tx *table.Tx, p *pack) error {
	begin, h := tx.Len(), a.head(p)
	if a.at.version == 0 {
		if err := a.createFits(&h, p); err != nil {
			return err
		}
		Heads.TxCreate(tx, &h)
	} else {
		u, err := a.update(&h, p)
		if err != nil {
			return err
		}
		Heads.TxUpdate(tx, a.id, u)
	}
	if p.closed != nil && !p.written {
		Pages.TxPut(tx, p.closed, longer(p.closed))
	}
	for i := range p.direct {
		Pages.TxPut(tx, &p.direct[i], longer(&p.direct[i]))
	}
	a.pages = tx.Len() - begin - 1
	if a.at.version == 0 {
		ListOf.TxPut(tx, a.listed())
	}
	a.before = tx.Len() - begin
	a.addMark(tx)
	for i := range a.claims {
		a.claims[i].addTo(tx, a.id, h.UpdatedAt)
	}
	a.next = tipOf(&h)
	return nil
}

// addMark adds the mark of the commit ID, if the caller gave one.
func (a *appending) addMark(tx *table.Tx) {
	if a.named {
		Marks.TxCreate(tx, &Mark{MarkKey: MarkKey{a.id, a.commit}, First: a.at.version + 1, N: len(a.events), Parts: a.parts, Digest: a.content.digest, Sealed: a.content.sealed})
	}
}

func (a *appending) listed() *Listed {
	return &Listed{ListedKey: ListKey(a.id), CreatedAt: a.events[0].RecordedAt}
}

// put appends in put mode. The head comes last.
func (a *appending) put(ctx context.Context, p *pack) error {
	h := a.head(p)
	a.next = tipOf(&h)
	if a.at.version == 0 {
		if err := a.createFits(&h, p); err != nil {
			return err
		}
		if !a.isListed {
			if err := a.s.persist(ctx, func() error { return ListOf.Put(ctx, a.s.t, a.listed()) }); err != nil {
				return err
			}
			a.isListed = true
		}
		err := Heads.Create(ctx, a.s.t, &h)
		if errors.Is(err, table.ErrExists) {
			return a.headRefused(ctx, nil)
		}
		return tooLargeError(err)
	}
	if p.closed != nil && a.closed != a.at.version {
		if err := a.s.closePage(ctx, p.closed); err != nil {
			return err
		}
		a.closed = a.at.version
	}
	u, err := a.update(&h, p)
	if err != nil {
		return err
	}
	refused, err := Heads.Update(ctx, a.s.t, a.id, u)
	if errors.Is(err, table.ErrCondition) || errors.Is(err, table.ErrNotFound) {
		return a.headRefused(ctx, refused)
	}
	return tooLargeError(err)
}

// closePage writes a page by itself, after the marks of its appends in put mode. If another writer
// was faster, the head will be refused.
func (s *Store) closePage(ctx context.Context, p *Page) error {
	if s.o.PutMode {
		marks, err := p.marks()
		if err != nil {
			return err
		}
		err = s.persist(ctx, func() (last error) {
			var failed []Mark
			for i, err := range Marks.CreateMany(ctx, s.t, marks, markWriters) {
				if err != nil && !errors.Is(err, table.ErrExists) {
					failed, last = append(failed, marks[i]), err
				}
			}
			marks = failed
			return last
		})
		if err != nil {
			return err
		}
	}
	return s.persist(ctx, func() error {
		if err := Pages.Put(ctx, s.t, p, longer(p)); !errors.Is(err, table.ErrCondition) {
			return err
		}
		return nil
	})
}

// persist retries an idempotent write that must precede the one of a head.
func (s *Store) persist(ctx context.Context, write func() error) error {
	for try := 0; ; try++ {
		err := write()
		if err == nil || try == 3 || ctx.Err() != nil || tooLarge(err) {
			return tooLargeError(err)
		}
		if err := s.sleep(ctx, retryDelay(try)); err != nil {
			return err
		}
	}
}

// markWriters is the number of marks that are written concurrently.
const markWriters = 8

// The parts of the update of a head.
const (
	setHead    = "SET currentSeqNum = :version, updatedAt = :at, lastTypes = :types"
	setHash    = ", #hash = :hash"
	setAppend  = ", #events = list_append(#events, :events), #bytes = #bytes + :bytes"
	setNewPage = ", #events = :events, #bytes = :bytes, #first = :first"

	ifHead    = "et = :et AND currentSeqNum = :was AND attribute_not_exists(#state)"
	ifHash    = " AND #hash = :prev"
	ifNoHash  = " AND attribute_not_exists(#hash)"
	ifNewPage = " AND #first = :open"
)

// The names in the update of a head that DynamoDB reserves, with and without a new page.
var (
	namesOfAppend  = map[string]string{"#hash": "hash", "#events": "events", "#bytes": "bytes", "#state": "state"}
	namesOfNewPage = map[string]string{"#hash": "hash", "#events": "events", "#bytes": "bytes", "#state": "state", "#first": "first"}
	valueOfHeads   = &types.AttributeValueMemberS{Value: Heads.Name()}
)

// update returns the update of an existing head: its open page gets one more record, or is replaced
// by a new one.
func (a *appending) update(h *Head, p *pack) (table.Update, error) {
	it, err := Heads.Encode(h)
	if err != nil {
		return table.Update{}, err
	}
	u := table.Update{Names: namesOfAppend, Values: table.Item{
		":et": valueOfHeads, ":was": number(a.at.version), ":version": it["currentSeqNum"], ":at": it["updatedAt"], ":types": it["lastTypes"], ":events": it["events"],
	}}
	set, cond := setHead, ifHead
	if a.chained {
		set, u.Values[":hash"] = set+setHash, it["hash"]
	}
	if len(a.at.hash) > 0 {
		cond, u.Values[":prev"] = cond+ifHash, &types.AttributeValueMemberB{Value: a.at.hash}
	} else {
		cond += ifNoHash
	}
	u.Values[":bytes"] = number(int64(p.bytes()))
	if p.closed != nil {
		u.Names = namesOfNewPage
		set, cond, u.Values[":first"], u.Values[":open"] = set+setNewPage, cond+ifNewPage, it["first"], number(a.at.first)
	} else {
		set += setAppend
	}
	u.Expression, u.Condition = set, cond
	return u, a.fits(it, p)
}

// fits checks that the head is not too large, with some space for attributes that are added later.
func (a *appending) fits(it table.Item, p *pack) error {
	size := table.ItemSize(it) + spareBytes
	if p.closed == nil {
		size += a.at.bytes
	}
	if size > maxItemBytes {
		return fmt.Errorf("%w: the events of %s have %d bytes in an item", ErrTooLarge, shorten(a.id.String()), size)
	}
	return nil
}

// createFits is fits for a new head.
func (a *appending) createFits(h *Head, p *pack) error {
	if p.bytes() <= recordBytes {
		return nil
	}
	it, err := Heads.Encode(h)
	if err != nil {
		return err
	}
	return a.fits(it, p)
}

func number(n int64) *types.AttributeValueMemberN {
	return &types.AttributeValueMemberN{Value: fmt.Sprint(n)}
}

// marks returns the number of operations for the mark.
func (a *appending) marks() int {
	if a.named {
		return 1
	}
	return 0
}

// types returns the distinct types of the events, sorted, for consumers of the head's changes.
func (a *appending) types() []string {
	types := make([]string, len(a.events))
	for i := range a.events {
		types[i] = a.events[i].EventType
	}
	slices.Sort(types)
	return slices.Compact(types)
}

// refused reports whether an operation failed because of its condition.
func refused(err error) bool {
	return errors.Is(err, table.ErrExists) || errors.Is(err, table.ErrCondition) || errors.Is(err, table.ErrNotFound)
}

// explain interprets the failure of the append's operation with index at.
func (a *appending) explain(ctx context.Context, err error, blamed *table.TxError, at int) error {
	switch {
	case !refused(err):
		return err
	case at == 0:
		return a.headRefused(ctx, blamed.Item)
	case at <= a.pages:
		return fmt.Errorf("%w: %s has version %d, but a page with later events exists", ErrHole, a.id, a.at.version)
	case at < a.before:
		return err
	case errors.Is(err, table.ErrExists) && blamed.Op == "create "+Marks.Name():
		return errTaken // by the same append: it will be found
	}
	return a.claimError(at - a.before - a.marks())
}

// tooLarge reports whether the store rejected a transaction or item as too large, which only its
// message says.
func tooLarge(err error) bool {
	return errors.Is(err, table.ErrTooLarge) || dynamo.Code(err) == dynamo.CodeValidation && strings.Contains(strings.ToLower(err.Error()), "size") && strings.Contains(err.Error(), "exceed")
}

func tooLargeError(err error) error {
	if err != nil && tooLarge(err) {
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	return err
}

// headRefused interprets a failed condition on the head, which is read again if it is not given.
func (a *appending) headRefused(ctx context.Context, it table.Item) error {
	a.s.tips.Remove(a.id)
	var h Head
	var err error
	if it != nil {
		h, err = Heads.Decode(it)
	} else {
		h, err = a.s.readHead(ctx, a.id)
	}
	switch {
	case err != nil:
		return err
	case h.State != Open:
		return a.isClosed(h.State)
	case len(h.Hash) > 0:
		a.chained = true // another store may have begun a chain: the next attempt continues it
	}
	return errTaken
}
