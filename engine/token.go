package engine

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/cockroachdb/pebble/v2"

	"github.com/onefold/onefold/engine/internal/capacity"
	"github.com/onefold/onefold/engine/internal/damage"
	"github.com/onefold/onefold/engine/internal/row"
	"github.com/onefold/onefold/engine/internal/store"
	"github.com/onefold/onefold/engine/internal/stripe"
)

// tokenLife is how long a ClientRequestToken is remembered.
const tokenLife = 10 * time.Minute

// The row of a token: expiry in milliseconds since 1970, 8 bytes; digest of the request, 32 bytes.
const tokenRow = 8 + sha256.Size

func tokenKey(token string) []byte { return append([]byte{row.SpaceToken}, token...) }

func tokenTimeKey(lapses int64, token string) []byte {
	return append(binary.BigEndian.AppendUint64([]byte{row.SpaceTokenTime}, uint64(lapses)), token...)
}

// claim records the token of a transaction. It returns done if the same transaction was committed
// before, and an error if another one used the token. It holds the token's stripe until the commit
// unlocks.
func (c *commit) claim(token string, sum [sha256.Size]byte) (done bool, err error) {
	key := tokenKey(token)
	c.lockToken(key)
	row, err := c.db.store.Read(key)
	if err != nil {
		return false, err
	}
	if len(row) == tokenRow && int64(binary.BigEndian.Uint64(row)) > c.now {
		if string(row[8:]) == string(sum[:]) {
			return true, nil
		}
		msg := "An error occurred (IdempotentParameterMismatch): request parameters do not match those of the first request with this token"
		return false, &types.IdempotentParameterMismatchException{Message: &msg}
	}
	lapses := c.now + tokenLife.Milliseconds()
	if err := c.batch.Set(key, append(binary.BigEndian.AppendUint64(nil, uint64(lapses)), sum[:]...), nil); err != nil {
		return false, err
	}
	return false, c.batch.Set(tokenTimeKey(lapses, token), nil, nil)
}

// lockToken takes the stripe of a token. Token stripes are separate and taken after those of items,
// one per commit.
func (c *commit) lockToken(key []byte) {
	c.token = &c.db.tokens[stripe.Of(key)].Mutex
	c.token.Lock()
}

// repeated answers a transaction that was committed before. It writes nothing and consumes the
// capacity of reads.
func (c *commit) repeated(in *dynamodb.TransactWriteItemsInput, actions []action) (*dynamodb.TransactWriteItemsOutput, error) {
	for i := range actions {
		ch, err := c.loadChange(actions[i].s, actions[i].key, actions[i].Keyed)
		if err != nil {
			return nil, c.abandon(err)
		}
		ch.use.Table = 2 * capacity.ReadUnits(row.Size(ch.old), true)
		ch.s.meterRead(c.now/1000, nil, ch.key, ch.use)
	}
	out := &dynamodb.TransactWriteItemsOutput{ConsumedCapacity: c.consumedByTransaction(in.ReturnConsumedCapacity, capacity.Reading)}
	if err := c.abandon(nil); err != nil {
		return nil, err
	}
	return out, nil
}

// dropTokens deletes expired tokens, at most limit, and returns how many.
func (db *DB) dropTokens(limit int) (n int, err error) {
	upper := binary.BigEndian.AppendUint64([]byte{row.SpaceTokenTime}, uint64(db.now().UnixMilli()))
	it, err := db.store.NewIter(&pebble.IterOptions{LowerBound: []byte{row.SpaceTokenTime}, UpperBound: upper})
	if err != nil {
		return 0, err
	}
	defer func() { err = joinClose(err, it) }()
	for ok := it.First(); ok && n < limit; ok = it.Next() {
		if err := db.dropToken(it.Key()); err != nil {
			return n, err
		}
		n++
	}
	return n, damage.Of(it.Error())
}

const tokenTimePrefix = 1 + 8

// dropToken deletes one token unless it has been claimed again.
func (db *DB) dropToken(timeKey []byte) (err error) {
	key := tokenKey(string(timeKey[tokenTimePrefix:]))
	lock := &db.tokens[stripe.Of(key)]
	lock.Lock()
	defer lock.Unlock()
	row, err := db.store.Read(key)
	if err != nil {
		return err
	}
	batch := db.store.NewBatch()
	defer func() { err = joinClose(err, batch) }()
	if len(row) == tokenRow && string(row[:8]) == string(timeKey[1:tokenTimePrefix]) {
		if err := batch.Delete(key, nil); err != nil {
			return err
		}
	}
	if err := batch.Delete(timeKey, nil); err != nil {
		return err
	}
	return db.store.Commit(batch, store.Shrinkage, pebble.NoSync)
}
