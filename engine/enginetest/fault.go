package enginetest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Effect is what a fault does to a request.
type Effect int

const (
	// Throttle refuses with ProvisionedThroughputExceededException. Items of a batch that are throttled are unprocessed,
	// unless all of them are; a transaction is cancelled with the reason ProvisionedThroughputExceeded.
	Throttle Effect = iota
	// Fail refuses with InternalServerError; nothing has happened.
	Fail
	// LoseAnswer carries the request out and answers InternalServerError all the same.
	LoseAnswer
	// Conflict refuses a write with TransactionConflictException, and cancels a transaction with the reason
	// TransactionConflict, as if another transaction were at the item. Items of a batch are unprocessed.
	Conflict
	// Unprocessed leaves an item of a batch unprocessed. It does nothing to other requests.
	Unprocessed
)

// Fault is something that goes wrong, as a value. Its fields narrow down which requests it is about; the zero value is
// about all of them. With a Key, or for an Effect on single items of batches, the items that a request names are counted,
// otherwise requests.
type Fault struct {
	Effect Effect
	Op     string                          // operation, such as "PutItem"; "": any
	Table  string                          // table that the request names; "": any
	Key    map[string]types.AttributeValue // key of an item that the request names; nil: any
	Writes bool                            // only what writes
	Nth    int                             // only the nth of them, from 1; 0: all
	Every  int                             // only every so many of them; 0 and 1: all
	When   func(Access) bool               // only when this is true; nil: always. It is called with locks held
}

// Access is an item, or for Query, Scan and requests about tables no item, that a request names.
type Access struct {
	Op    string
	Table string
	Item  map[string]types.AttributeValue // the key; of a put, the item; nil: none
	Write bool
}

// operations are those that a fault may name.
var operations = []string{
	"BatchExecuteStatement", "BatchGetItem", "BatchWriteItem", "CreateTable", "DeleteItem",
	"DeleteTable", "DescribeStream", "DescribeTable", "ExecuteStatement", "ExecuteTransaction",
	"GetItem", "GetRecords", "GetShardIterator", "ListTables", "PutItem",
	"Query", "Scan", "TransactGetItems", "TransactWriteItems", "UpdateItem",
	"UpdateTable",
}

// fault is a fault under way.
type fault struct {
	Fault
	seen int
}

// check says what of a fault can never happen.
func (f *Fault) check() error {
	switch {
	case f.Effect < Throttle || f.Effect > Unprocessed:
		return fmt.Errorf("there is no effect %d", f.Effect)
	case f.Op != "" && !slices.Contains(operations, f.Op):
		return fmt.Errorf("no fault can be of the operation %q; there are %s", f.Op, strings.Join(operations, ", "))
	case f.Nth < 0 || f.Every < 0:
		return fmt.Errorf("the counts Nth (%d) and Every (%d) begin at 1, and 0 is all", f.Nth, f.Every)
	}
	return nil
}

// Inject orders faults, beside those that there are. Of several that fit, the first one ordered happens. One that can never
// happen fails the test.
func (db *DB) Inject(faults ...Fault) {
	db.t.Helper()
	for _, f := range faults {
		if err := f.check(); err != nil {
			db.t.Fatalf("enginetest: Inject: %v", err)
			return
		}
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, f := range faults {
		db.faults = append(db.faults, &fault{Fault: f})
	}
}

// Heal takes all faults back.
func (db *DB) Heal() {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.faults = nil
}

// Hits returns how often a fault has happened: to a request, or to an item of a batch.
func (db *DB) Hits() int {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.hits
}

// ofItems reports whether the fault counts items, not requests.
func (f *fault) ofItems() bool { return f.Key != nil || f.Effect == Unprocessed || f.When != nil }

// fits reports whether the fault is about an access.
func (f *fault) fits(a Access) bool {
	if f.Op != "" && f.Op != a.Op || f.Table != "" && f.Table != a.Table || f.Writes && !a.Write {
		return false
	}
	if f.Effect == Unprocessed && a.Op != "BatchWriteItem" && a.Op != "BatchGetItem" || f.Effect == Conflict && !a.Write && a.Op != "TransactGetItems" {
		return false
	}
	for name, v := range f.Key {
		if !reflect.DeepEqual(a.Item[name], v) {
			return false
		}
	}
	return f.When == nil || f.When(a)
}

// strikes counts a request or an item, and reports whether it is one that goes wrong.
func (f *fault) strikes() bool {
	f.seen++
	return (f.Nth == 0 || f.seen == f.Nth) && (f.Every <= 1 || f.seen%f.Every == 0)
}

// verdict is what goes wrong with a request: with the whole of it, or with some of the items that it names.
type verdict struct {
	whole *Effect
	items map[int]Effect // by number of the access
}

// judge finds what goes wrong with a request.
func (db *DB) judge(accesses ...Access) verdict {
	db.mu.Lock()
	defer db.mu.Unlock()
	v := verdict{items: map[int]Effect{}}
	if db.closed { // which the engine answers
		return v
	}
	for _, f := range db.faults {
		fitting := slices.DeleteFunc(numbers(len(accesses)), func(i int) bool { return !f.fits(accesses[i]) })
		if len(fitting) == 0 {
			continue
		}
		if !f.ofItems() {
			if f.strikes() && v.whole == nil {
				v.whole = &f.Effect
				db.hits++
			}
			continue
		}
		for _, i := range fitting {
			if _, struck := v.items[i]; f.strikes() && !struck {
				v.items[i] = f.Effect
				db.hits++
			}
		}
	}
	return v
}

func numbers(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// one returns what goes wrong with a request as a whole, also because it does with one of its items.
func (v verdict) one() (Effect, bool) {
	if v.whole != nil {
		return *v.whole, true
	}
	for _, i := range slices.Sorted(maps.Keys(v.items)) {
		if v.items[i] != Unprocessed {
			return v.items[i], true
		}
	}
	return 0, false
}

const (
	throttledMessage = "The level of configured provisioned throughput for the table was exceeded. Consider increasing your provisioning level with the UpdateTable API."
	conflictMessage  = "Transaction is ongoing for the item"
	internalMessage  = "Internal server error"
)

// err is the answer to a request that meets an effect.
func (e Effect) err(a Access) error {
	switch e {
	case Throttle:
		msg, reason, resource := throttledMessage, "TableReadProvisionedThroughputExceeded", "arn:aws:dynamodb:us-east-1:000000000000:table/"+a.Table
		if a.Write {
			reason = "TableWriteProvisionedThroughputExceeded"
		}
		return &types.ProvisionedThroughputExceededException{Message: &msg, ThrottlingReasons: []types.ThrottlingReason{{Reason: &reason, Resource: &resource}}}
	case Conflict:
		msg := conflictMessage
		return &types.TransactionConflictException{Message: &msg}
	}
	msg := internalMessage
	return &types.InternalServerError{Message: &msg}
}

// cancelled is the answer to a transaction of so many actions, some of which are throttled or in conflict.
func (v verdict) cancelled(actions int) error {
	reasons, codes := make([]types.CancellationReason, actions), make([]string, actions)
	for i := range reasons {
		code, msg := "None", ""
		effect, struck := v.items[i]
		if v.whole != nil && i == 0 {
			effect, struck = *v.whole, true
		}
		if struck && effect == Throttle {
			code, msg = "ProvisionedThroughputExceeded", throttledMessage
		} else if struck && effect == Conflict {
			code, msg = "TransactionConflict", conflictMessage
		}
		codes[i], reasons[i].Code = code, &code
		if msg != "" {
			reasons[i].Message = &msg
		}
	}
	msg := "Transaction cancelled, please refer cancellation reasons for specific reasons [" + strings.Join(codes, ", ") + "]"
	return &types.TransactionCanceledException{Message: &msg, CancellationReasons: reasons}
}
