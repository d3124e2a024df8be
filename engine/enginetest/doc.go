// Package enginetest provides a DynamoDB for tests: in memory, with a clock that the test controls,
// and with injected faults. With it, code written for DynamoDB can be tested against DynamoDB's
// failures (throttling, conflicts, unprocessed items, lost responses, delayed indexes, ending
// shards) without waiting for them. Only tests import it.
//
//	db := enginetest.New(t)
//	store := orders.NewStore(db)                                    // wherever the methods of *dynamodb.Client are taken
//	db.Inject(enginetest.Fault{Effect: enginetest.Throttle, Key: key, Nth: 2})
//	db.Advance(time.Hour)                                            // items that have expired are gone
//
// Tests can call a DB directly, or through an SDK client: db.Client() returns one whose requests
// use DynamoDB's protocol without leaving the process.
package enginetest
