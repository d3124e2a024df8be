// Package enginetest gives a test a DynamoDB of its own: in memory, with a clock that the test moves, and with faults that
// the test orders. It exists so that code written for DynamoDB can be tested against what DynamoDB does on a bad day
// (throttling, conflicts, unprocessed items, lost answers, late indexes, shards that end) without waiting for one. Only
// tests import it.
//
//	db := enginetest.New(t)
//	store := orders.NewStore(db)                                    // wherever the methods of *dynamodb.Client are taken
//	db.Inject(enginetest.Fault{Effect: enginetest.Throttle, Key: key, Nth: 2})
//	db.Advance(time.Hour)                                            // items that have expired are gone
//
// A DB is called directly, or through an unchanged client: db.Client() is one whose requests go through DynamoDB's
// protocol and do not leave the process.
package enginetest
