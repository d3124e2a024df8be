// Package cost says what a table costs a month on DynamoDB: of the loads that a schema declares or of what was metered, by
// the rules of metering and a dated price book. It asks nobody for prices: those of the book are as old as it says.
//
// The way in is Declared or Observed, which make a Workload, and Of, which makes its Bill.
package cost
