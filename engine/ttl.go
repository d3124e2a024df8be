package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/layout"
	"github.com/onefold/onefold/engine/internal/request"
	"github.com/onefold/onefold/engine/internal/row"
	"github.com/onefold/onefold/engine/internal/stripe"
)

// UpdateTimeToLive selects the attribute that holds the expiry time of items, or disables expiry.
func (db *DB) UpdateTimeToLive(ctx context.Context, in *dynamodb.UpdateTimeToLiveInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateTimeToLiveOutput, error) {
	call, err := begin(ctx, db, &in)
	if err != nil {
		return nil, err
	}
	defer call.End()
	spec, err := request.CheckTTL(in.TimeToLiveSpecification)
	if err != nil {
		return nil, err
	}
	db.control.Lock()
	defer db.control.Unlock()
	t, err := db.named(in.TableName)
	if err != nil {
		return nil, err
	}
	c := db.change(t)
	if err := c.SetTTL(spec); err != nil {
		return nil, err
	}
	if err := db.commitChange(t, c); err != nil {
		return nil, err
	}
	return &dynamodb.UpdateTimeToLiveOutput{TimeToLiveSpecification: spec}, nil
}

// DescribeTimeToLive returns the expiry attribute of a table.
func (db *DB) DescribeTimeToLive(ctx context.Context, in *dynamodb.DescribeTimeToLiveInput, _ ...func(*dynamodb.Options)) (*dynamodb.DescribeTimeToLiveOutput, error) {
	call, err := begin(ctx, db, &in)
	if err != nil {
		return nil, err
	}
	defer call.End()
	t, err := db.named(in.TableName)
	if err != nil {
		return nil, err
	}
	out := &types.TimeToLiveDescription{TimeToLiveStatus: types.TimeToLiveStatusDisabled}
	if attr := t.schema.Load().desc.TTL; attr != "" {
		out.TimeToLiveStatus, out.AttributeName = types.TimeToLiveStatusEnabled, &attr
	}
	return &dynamodb.DescribeTimeToLiveOutput{TimeToLiveDescription: out}, nil
}

// oldestExpiry is the age beyond which an expiry time is ignored as a mistake.
const oldestExpiry = 5 * 365 * 24 * time.Hour

// ExpireNow deletes all items that have expired by the injected clock and returns their number.
// Like DynamoDB, it ignores expiry times more than five years in the past.
func (db *DB) ExpireNow(ctx context.Context) (int, error) {
	call, err := db.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer call.End()
	total := 0
	for _, t := range *db.tables.Load() {
		n, err := db.expireTable(ctx, t)
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

func (db *DB) expireTable(ctx context.Context, t *table) (int, error) {
	s := t.schema.Load()
	if s == nil || s.desc.TTL == "" {
		return 0, nil
	}
	now := db.now()
	from := row.AppendExpiryKey(nil, s.desc.ID, max(0, now.Add(-oldestExpiry).Unix()), nil)
	end := row.AppendExpiryKey(nil, s.desc.ID, now.Unix()+1, nil)
	total := 0
	for {
		keys, next, err := db.itemKeys(from, end)
		if err != nil {
			return total, err
		}
		n, err := db.expireChunk(ctx, t, keys)
		total += n
		if err != nil || next == nil {
			return total, err
		}
		from = next
	}
}

// expireChunk deletes the items for a chunk of expiry rows, each in its own commit, and waits once
// for all of them.
func (db *DB) expireChunk(ctx context.Context, t *table, keys [][]byte) (total int, err error) {
	if db.durable() {
		db.unsaved.Add(1)
		defer db.unsaved.Add(-1)
	}
	for _, key := range keys {
		var done bool
		if err = ctx.Err(); err == nil {
			done, err = db.expireItem(t, key)
		}
		if err != nil {
			break
		}
		if done {
			total++
		}
	}
	if total > 0 && db.durable() {
		err = errors.Join(err, db.syncLog())
	}
	return total, err
}

// expireItem deletes the item of an expiry row unless its expiry has changed. It does not wait for
// the disk.
func (db *DB) expireItem(t *table, expiry []byte) (bool, error) {
	at := int64(binary.BigEndian.Uint64(expiry[5:]))
	c := db.newCommit(1)
	t.gate.RLock()
	s := t.schema.Load()
	if s == nil {
		t.gate.RUnlock()
		return false, c.abandon(nil)
	}
	c.entered = append(c.entered, s)
	key := append(row.AppendItemPrefix(nil, s.desc.ID), expiry[row.ExpiryPrefixLen:]...)
	c.wanted = append(c.wanted, stripe.Of(key))
	c.lock()
	ch, err := c.loadChange(s, key, nil)
	if err != nil {
		return false, c.abandon(err)
	}
	it, err := ch.before()
	if err != nil {
		return false, c.abandon(err)
	}
	is, ok := layout.Expiry(it[s.desc.TTL])
	if !ok || is != at {
		return false, c.dropStale(expiry)
	}
	ch.keyed, ch.service = it, true
	if err := c.stage(ch); err != nil {
		return false, c.abandon(err)
	}
	c.unsynced = true
	return true, c.finish()
}

// dropStale removes an expiry row without an item.
func (c *commit) dropStale(expiry []byte) error {
	if err := c.batch.Delete(expiry, nil); err != nil {
		return c.abandon(err)
	}
	c.unsynced = true
	return c.finish()
}

// startUpkeep runs background maintenance until Close: expiry, trimming, and dropping tokens.
func (db *DB) startUpkeep() {
	if db.o.TTLInterval < 0 {
		return
	}
	db.work.Add(1)
	go func() {
		defer db.work.Done()
		tick := time.NewTicker(db.o.TTLInterval)
		defer tick.Stop()
		for {
			select {
			case <-db.ctx.Done():
				return
			case <-tick.C:
				if err := db.maintain(db.ctx); err != nil && db.ctx.Err() == nil {
					db.o.Logger.Error("engine: maintenance failed; retrying", "error", err)
				}
			}
		}
	}()
}

const tokensPerRound = 100_000

func (db *DB) maintain(ctx context.Context) error {
	if _, err := db.ExpireNow(ctx); err != nil {
		return fmt.Errorf("expire items: %w", err)
	}
	if err := db.TrimStreams(ctx); err != nil {
		return fmt.Errorf("trim streams: %w", err)
	}
	if _, err := db.dropTokens(tokensPerRound); err != nil {
		return fmt.Errorf("drop tokens: %w", err)
	}
	if db.o.IndexDelay > 0 {
		if err := db.applyPostponed(db.now().UnixMilli()); err != nil {
			return err
		}
	}
	return db.saveCounts(false)
}
