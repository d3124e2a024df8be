package enginetest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Effect is the effect of a fault on a request.
type Effect int

const (
	// Throttle fails with ProvisionedThroughputExceededException. Throttled items of a batch remain
	// unprocessed, unless all of them are throttled. A transaction is cancelled with reason
	// ProvisionedThroughputExceeded.
	Throttle Effect = iota
	// Fail fails with InternalServerError, without any effect.
	Fail
	// LoseAnswer executes the request, but responds with InternalServerError.
	LoseAnswer
	// Conflict fails a write with TransactionConflictException, and cancels a transaction with
	// reason TransactionConflict, as if another transaction held the item. Items of a batch remain
	// unprocessed.
	Conflict
	// Unprocessed leaves an item of a batch unprocessed. It does not affect other requests.
	Unprocessed
)

// Fault describes a failure. Its fields select the affected requests; the zero value selects all.
// With Key or When, or for an Effect on single items of batches, it counts the items named in
// requests, otherwise the requests.
type Fault struct {
	Effect Effect
	Op     string                          // operation, such as "PutItem"; "" selects all
	Table  string                          // table named in the request; "" selects all
	Key    map[string]types.AttributeValue // key of an item named in the request; nil selects all
	Writes bool                            // only writes
	Nth    int                             // only the n-th match, from 1; 0 selects all
	Every  int                             // only every n-th match; 0 and 1 select all
	When   func(Access) bool               // only if it returns true; called with locks held. nil selects all
}

// Access is an item named in a request. For Query, Scan and requests about tables, there is no
// item.
type Access struct {
	Op    string
	Table string
	Item  map[string]types.AttributeValue // the key, or the item of a put; nil for none
	Write bool
}

// operations are the operations that a fault may name.
var operations = []string{
	"BatchExecuteStatement", "BatchGetItem", "BatchWriteItem", "CreateTable", "DeleteItem",
	"DeleteTable", "DescribeStream", "DescribeTable", "ExecuteStatement", "ExecuteTransaction",
	"GetItem", "GetRecords", "GetShardIterator", "ListTables", "PutItem",
	"Query", "Scan", "TransactGetItems", "TransactWriteItems", "UpdateItem",
	"UpdateTable",
}

// fault is an injected fault.
type fault struct {
	Fault
	seen int
}

// check rejects faults that can never occur.
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

// Inject adds faults. If several match, the one added first occurs. A fault that can never occur
// fails the test.
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

// Heal removes all faults.
func (db *DB) Heal() {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.faults = nil
}

// Hits returns how often faults have occurred, for requests or for items of a batch.
func (db *DB) Hits() int {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.hits
}

// ofItems reports whether the fault counts items instead of requests.
func (f *fault) ofItems() bool { return f.Key != nil || f.Effect == Unprocessed || f.When != nil }

// fits reports whether the fault matches an access.
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

// strikes counts a match, and reports whether the fault occurs for it.
func (f *fault) strikes() bool {
	f.seen++
	return (f.Nth == 0 || f.seen == f.Nth) && (f.Every <= 1 || f.seen%f.Every == 0)
}

// verdict contains the faults of a request: of the request as a whole, or of items named in it.
type verdict struct {
	whole *Effect
	items map[int]Effect // by index of the access
}

// judge determines the faults of a request.
func (db *DB) judge(accesses ...Access) verdict {
	db.mu.Lock()
	defer db.mu.Unlock()
	v := verdict{items: map[int]Effect{}}
	if db.closed { // the engine returns its own error
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

// one returns the fault of a request as a whole, including faults of its items.
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

// err returns the error of a request for an effect.
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

// cancelled returns the error of a transaction in which some actions are throttled or in conflict.
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
