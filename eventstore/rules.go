package eventstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/table"
)

// ErrUnsealed is returned by a store without Options.Secrets when it would append an event of a type that has personal fields, or keep a snapshot,
// on a table whose personal fields are sealed, and when it would reserve, release or look up a value on a table whose secret for values is
// encrypted. Nothing was stored.
var ErrUnsealed = errors.New("eventstore: this table keeps what is personal sealed, and this store has no keys to it: open it with Options.Secrets")

// PersonalRule says what is personal in the events of a type; see shred.Personal.
type PersonalRule struct {
	Event    string   `dynamodbav:"event"`
	Subject  string   `dynamodbav:"subject"`
	Fields   []string `dynamodbav:"fields,omitempty"`
	Metadata []string `dynamodbav:"metadata,omitempty"`
}

// RulesKey is the key of the one item of rules.
type RulesKey struct{}

// Rules hold for every event store on a table, whatever its own options are.
type Rules struct {
	RulesKey
	Personal  []PersonalRule `dynamodbav:"personal,omitempty"`  // what is sealed
	Mode      WriteMode      `dynamodbav:"mode,omitempty"`      // how all stores append; empty: none has yet
	Secret    []byte         `dynamodbav:"secret,omitempty"`    // with which values of reservations are hashed; see Wrapped
	Wrapped   []byte         `dynamodbav:"wrapped,omitempty"`   // the same, encrypted: from when a store with Options.Secrets has first reserved a value
	Master    string         `dynamodbav:"master,omitempty"`    // by which key
	HeldUntil int64          `dynamodbav:"heldUntil,omitempty"` // the time, in milliseconds since 1970, up to which stores go by rules as they have read them

	// TypeShards is the largest Options.TypeShards of the stores that have appended; 0: 1.
	TypeShards int `dynamodbav:"typeShards,omitempty"`

	// ReliedFrom is the time, in milliseconds since 1970, from which all stores go by the last change of Personal. Nothing is sealed before it.
	ReliedFrom int64 `dynamodbav:"reliedFrom,omitempty"`
}

// Wait returns how long a keeper must wait before it relies on these rules, at most 9 seconds: until then, a store may still apply older
// ones. If it need not wait, the result is zero or less.
func (r *Rules) Wait(now time.Time) time.Duration {
	return min(time.UnixMilli(r.ReliedFrom).Sub(now), maxWait)
}

// TableRules is the item of rules.
var TableRules = table.Define[Rules, RulesKey]("eventstore.rules", table.Def[Rules]{
	PK: "EVENT_STORE", SK: "#RULES",
	Example: exampleRules,
	Doc:     "What holds for all event stores on the table: which fields of which events are sealed.",
	Growth:  table.Growth{Writes: 1, Most: 1 / holdFor.Seconds(), Bytes: 500}, // a process that appends says how long it goes by them
})

func exampleRules(r *Rules) { r.Mode, r.TypeShards = InTransactions, 4 }

// RulesNow are the rules of the table.
var RulesNow = table.NewGet[RulesKey](TableRules, table.GetDef{
	ID: "E14", Question: "what holds for all event stores on the table", Load: table.Load{PerSecond: 0.1, Items: 1, ItemBytes: 500},
})

// Stores go by the rules that they have read for holdFor. Who changes the rules waits until that is over everywhere, and for holdMargin, by which clocks may differ.
const (
	holdFor    = 3 * time.Second
	holdMargin = 3 * time.Second
	maxWait    = holdFor + 2*holdMargin // whatever a clock that is wrong wrote
	sealedFor  = time.Second            // events are written so soon after they were sealed, or sealed anew
)

// HeldRules are the rules of a table, read now and then. The zero value is ready. It is safe for concurrent use.
type HeldRules struct {
	mu          sync.Mutex
	rules       Rules
	from, until time.Time
}

// Get returns the rules, which hold for so long that what is appended now is appended by them.
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

// Drop forgets what was read.
func (h *HeldRules) Drop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.until = time.Time{}
}

// holdRules reads the rules and says until when they will be gone by, in one request.
func holdRules(ctx context.Context, t *table.Table, now time.Time) (r Rules, err error) {
	return updateRules(ctx, t, "SET #et = :et, #name = :value", "heldUntil", &types.AttributeValueMemberN{Value: fmt.Sprint(now.Add(holdFor).UnixMilli())})
}

// updateRules sets an attribute of the rules, which need not be there, and returns them.
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

// DeclarePersonal makes it a rule of the table that some fields are personal. What was declared once stays so. Other stores go by the rules from before
// for some seconds yet: whoever seals waits for Rules.Wait first, whether it changed the rules or finds them changed.
func DeclarePersonal(ctx context.Context, t *table.Table, add []PersonalRule) error {
	r, err := RulesNow.Get(ctx, t, RulesKey{})
	if errors.Is(err, table.ErrNotFound) {
		r.Personal = mergeRules(nil, add)
		if err = TableRules.Create(ctx, t, &r); !errors.Is(err, table.ErrExists) {
			return err // nobody has read rules yet: no wait
		}
		err = nil
	}
	if err != nil || slices.EqualFunc(mergeRules(r.Personal, add), r.Personal, sameRule) {
		return err
	}
	_, err = TableRules.Modify(ctx, t, RulesKey{}, func(r *Rules) error {
		merged := mergeRules(r.Personal, add)
		if slices.EqualFunc(merged, r.Personal, sameRule) {
			return nil // another keeper was quicker, and said from when they may be relied upon
		}
		latest := min(r.HeldUntil+holdMargin.Milliseconds(), t.Now().Add(maxWait).UnixMilli())
		r.Personal, r.ReliedFrom = merged, max(r.ReliedFrom, latest)
		return nil
	})
	return err
}

func sameRule(a, b PersonalRule) bool {
	return a.Event == b.Event && a.Subject == b.Subject && slices.Equal(a.Fields, b.Fields) && slices.Equal(a.Metadata, b.Metadata)
}

// mergeRules adds rules: what one of them says is personal is so.
func mergeRules(rules, add []PersonalRule) []PersonalRule {
	rules = slices.Clone(rules)
	for _, a := range add {
		i := slices.IndexFunc(rules, func(r PersonalRule) bool { return r.Event == a.Event && r.Subject == a.Subject })
		if i < 0 {
			rules = append(rules, a)
			continue
		}
		rules[i].Fields = union(rules[i].Fields, a.Fields)
		rules[i].Metadata = union(rules[i].Metadata, a.Metadata)
	}
	return rules
}

func union(a, b []string) []string {
	a = slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(a, s) {
			a = append(a, s)
		}
	}
	return a
}

// unsealed refuses what a store without secrets must not store.
func (s *Store) unsealed(ctx context.Context, personal func(PersonalRule) bool) error {
	if s.o.Secrets != nil {
		return nil
	}
	r, err := s.held.Get(ctx, s.t)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(r.Personal, personal); i >= 0 {
		return fmt.Errorf("%w: event type %q", ErrUnsealed, r.Personal[i].Event)
	}
	return nil
}
