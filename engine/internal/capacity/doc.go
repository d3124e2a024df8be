// Package capacity computes what requests would cost on DynamoDB: the units of reads and writes for
// tables and indexes, their form in responses, and meters that add them up. The billing rules are
// in this package only, and can be tested without a store.
package capacity
