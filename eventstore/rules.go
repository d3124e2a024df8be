package eventstore

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/table"
)

// RulesKey is the key of the only rules item.
type RulesKey struct{}

// Rules hold for all event stores on a table, regardless of their options.
type Rules struct {
	RulesKey
	Personal  []PersonalRule `dynamodbav:"personal,omitempty"`  // fields to seal
	Mode      WriteMode      `dynamodbav:"mode,omitempty"`      // write mode of all stores; "": none yet
	Secret    []byte         `dynamodbav:"secret,omitempty"`    // key of the hashes of reserved values; see Wrapped
	Wrapped   []byte         `dynamodbav:"wrapped,omitempty"`   // the secret, encrypted, once a store with Options.Secrets has reserved a value
	Master    string         `dynamodbav:"master,omitempty"`    // name of the master key
	HeldUntil int64          `dynamodbav:"heldUntil,omitempty"` // until when stores may use rules that they have read, epoch milliseconds

	// TypeShards is the largest Options.TypeShards of the stores that have appended; 0 means 1.
	TypeShards int `dynamodbav:"typeShards,omitempty"`

	// ReliedFrom is when all stores use the last change of Personal, epoch milliseconds. Nothing is
	// sealed by it before.
	ReliedFrom int64 `dynamodbav:"reliedFrom,omitempty"`
}

// Wait returns how long a key store must wait before it relies on these rules, at most 9 seconds,
// because stores may still use older ones. Zero or less means no wait.
func (r *Rules) Wait(now time.Time) time.Duration {
	return min(time.UnixMilli(r.ReliedFrom).Sub(now), maxWait)
}

// TableRules holds the rules item.
var TableRules = table.Define[Rules, RulesKey]("eventstore.rules", table.Def[Rules]{
	PK: "EVENT_STORE", SK: "#RULES", Access: table.Access{Ingest: table.Rights{Reads: table.Whole, Puts: table.Whole, Updates: table.Whole}},
	Example: exampleRules,
	Doc:     "Settings of all event stores on the table, such as which fields of events are encrypted.",
	Growth:  table.Growth{Writes: 1, Most: 1 / holdFor.Seconds(), Bytes: 500}, // each appending process records how long it uses them
})

func exampleRules(r *Rules) { r.Mode, r.TypeShards = InTransactions, 4 }

// RulesNow reads the rules of the table.
var RulesNow = table.NewGet[RulesKey](TableRules, table.GetDef{
	ID: "E14", Question: "the settings of all event stores on the table", Load: table.Load{PerSecond: 0.1, Items: 1, ItemBytes: 500},
})

// Stores use rules for holdFor after reading them. A change of the rules waits until that time is
// over everywhere, plus holdMargin for clock differences.
const (
	holdFor    = 3 * time.Second
	holdMargin = 3 * time.Second
	maxWait    = holdFor + 2*holdMargin // upper limit, whatever a wrong clock wrote
	sealedFor  = time.Second            // events are written within this time after sealing, or sealed again
)

// HeldRules caches the rules of a table. The zero value is ready for use. It is safe for concurrent
// use.
type HeldRules struct {
	mu          sync.Mutex
	rules       Rules
	from, until time.Time
}

// Get returns rules that hold long enough for an append that starts now.
func (h *HeldRules) Get(ctx context.Context, t *table.Table) (Rules, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := t.Now()
	if now.Before(h.until) && !now.Before(h.from) {
		return h.rules, nil
	}
	rules, err := holdRules(ctx, t, now)
	if err == nil {
		h.rules, h.from, h.until = rules, now, now.Add(holdFor)
	}
	return rules, err
}

// Drop empties the cache.
func (h *HeldRules) Drop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.until = time.Time{}
}

// holdRules reads the rules and records until when they are used, in one request.
func holdRules(ctx context.Context, t *table.Table, now time.Time) (r Rules, err error) {
	return updateRules(ctx, t, "SET #et = :et, #name = :value", "heldUntil", &types.AttributeValueMemberN{Value: fmt.Sprint(now.Add(holdFor).UnixMilli())})
}

// updateRules sets an attribute of the rules, creating them if necessary, and returns them.
func updateRules(ctx context.Context, t *table.Table, update, name string, value types.AttributeValue) (r Rules, err error) {
	key, err := TableRules.Key(RulesKey{})
	if err != nil {
		return r, err
	}
	in := &dynamodb.UpdateItemInput{
		TableName: aws.String(t.Name()), Key: key, ReturnValues: types.ReturnValueAllNew,
		UpdateExpression: aws.String(update), ExpressionAttributeNames: map[string]string{"#et": table.AttrEntity, "#name": name},
		ExpressionAttributeValues: table.Item{":et": &types.AttributeValueMemberS{Value: TableRules.Name()}, ":value": value},
	}
	for try := 0; ; try++ {
		out, err := t.API().UpdateItem(ctx, in)
		if err == nil {
			return TableRules.Decode(out.Attributes)
		}
		if try == maxTries-1 || ctx.Err() != nil {
			return r, fmt.Errorf("read the rules of the table: %w", err)
		}
	}
}
