// Package cost estimates the monthly cost of a table on DynamoDB, from the loads declared in a
// schema or from metered usage, using the billing rules and a dated price book. It does not fetch
// prices; they are as old as the book says.
//
// Declared and Observed make a Workload, for which Of computes the Bill.
package cost
