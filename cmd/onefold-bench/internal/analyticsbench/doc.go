// Package analyticsbench measures web analytics as deployed: a server in its own process, whose CPU
// time is therefore its own, driven over HTTP from this process. `onefold-bench analytics` prints
// the results.
package analyticsbench
