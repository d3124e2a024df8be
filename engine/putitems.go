package engine

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine/internal/item"
	"github.com/onefold/onefold/engine/internal/request"
	"github.com/onefold/onefold/engine/internal/stripe"
)

var _ dynamo.Putter = (*DB)(nil)

// putsOfCommit is the number of puts of a call that share a commit. A larger commit would hold more
// stripes at once and make concurrent calls wait for each other.
const putsOfCommit = 64

// Commits keep their old and new rows in memory until they are awaited. So a commit is limited to
// bytesOfCommit, and published commits are awaited when they total bytesPublished.
const (
	bytesOfCommit  = 1 << 20
	bytesPublished = 8 << 20
)

// PutItems implements dynamo.Putter. The puts of one commit are applied together, but each is
// billed and recorded in the stream separately. All commits are published before the first one is
// awaited, so that one sync of the log serves all.
func (db *DB) PutItems(ctx context.Context, ins []*dynamodb.PutItemInput) []error {
	errs := make([]error, len(ins))
	call, err := db.begin(ctx)
	if err != nil {
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	defer call.End()
	puts := make([]put, 0, len(ins))
	for i, in := range ins {
		p := put{at: i}
		if in == nil {
			in = new(dynamodb.PutItemInput)
		}
		if errs[i] = p.CheckPut(db.parser, in); errs[i] == nil {
			puts = append(puts, p)
		}
	}
	var published []*putCommit
	held := 0
	for len(puts) > 0 {
		var pc *putCommit
		pc, puts = db.putSome(puts, errs)
		published, held = append(published, pc), held+cap(pc.buf)
		if held < bytesPublished && len(puts) > 0 {
			continue
		}
		for _, pc := range published {
			pc.settleAll(errs)
		}
		published, held = published[:0], 0
	}
	return errs
}

// putsOf returns how many of the first puts fit into one commit.
func putsOf(puts []put) int {
	n, bytes := 0, 0
	for n < min(len(puts), putsOfCommit) && bytes < bytesOfCommit {
		puts[n].size = item.Size(puts[n].Keyed)
		bytes += puts[n].size
		n++
	}
	return n
}

// put is one PutItem of a PutItems call, with its index at.
type put struct {
	action
	at int
}

// putCommit is a commit and the inputs whose outcome it decides.
type putCommit struct {
	*commit
	decided []int // inputs that were put, or rejected because of the stored item
}

// putSome publishes a commit with the first puts, which must be for one table and different items.
// It returns the rest.
func (db *DB) putSome(puts []put, errs []error) (pc *putCommit, left []put) {
	n := putsOf(puts)
	pc = &putCommit{commit: db.newCommit(n)}
	defer pc.fatalPanic()
	table := request.TableName(puts[0].Table)
	s, err := pc.enterTable(puts[0].Table)
	chosen := make([]*put, 0, n)
	for i := range puts[:n] {
		p := &puts[i]
		if request.TableName(p.Table) != table {
			left = append(left, *p)
			continue
		}
		if errs[p.at] = err; err == nil {
			errs[p.at] = p.resolve(pc.commit, s)
		}
		if errs[p.at] == nil {
			chosen = append(chosen, p)
		}
	}
	slices.SortStableFunc(chosen, func(a, b *put) int { return bytes.Compare(a.key, b.key) })
	distinct := chosen[:0]
	for i, p := range chosen {
		if i > 0 && bytes.Equal(p.key, chosen[i-1].key) {
			left = append(left, *p)
		} else {
			distinct = append(distinct, p)
		}
	}
	pc.putEach(distinct, errs)
	if len(left) == 0 {
		return pc, puts[n:]
	}
	return pc, append(left, puts[n:]...)
}

// putEach performs puts of different items, in the order of their keys, and publishes the changes.
// If the store fails, it publishes nothing.
func (pc *putCommit) putEach(puts []*put, errs []error) {
	for _, p := range puts {
		pc.wanted = append(pc.wanted, stripe.Of(p.key))
	}
	pc.lock()
	err := pc.withIterator(func() (err error) {
		for _, p := range puts {
			if errs[p.at], err = pc.putOne(&p.action); err != nil {
				return err
			}
			pc.decided = append(pc.decided, p.at)
		}
		return nil
	})
	if err != nil {
		for _, p := range puts {
			errs[p.at] = fmt.Errorf("engine: put items: %w", err)
		}
		pc.batch.Reset()
		pc.records, pc.changes, pc.entries, pc.decided = pc.records[:0], pc.changes[:0], pc.entries[:0], nil
	}
	pc.publish()
	pc.count()
}

// putOne performs one put. refused is an error of this put alone; failed is an error after which
// the batch contains part of the put and must not be used.
func (pc *putCommit) putOne(a *action) (refused, failed error) {
	changes, entries, rows := len(pc.changes), len(pc.entries), pc.batch.Count()
	if _, err := pc.perform(a); err != nil {
		pc.changes, pc.entries = pc.changes[:changes], pc.entries[:entries]
		if pc.batch.Count() != rows {
			return nil, err
		}
		return err, nil
	}
	return nil, nil
}

// settleAll waits until the commit is on disk, and with it everything that its failed conditions
// have seen.
func (pc *putCommit) settleAll(errs []error) {
	if err := pc.await(); err != nil {
		for _, at := range pc.decided {
			errs[at] = err
		}
	}
}
