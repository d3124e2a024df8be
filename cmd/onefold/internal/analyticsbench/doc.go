// Package analyticsbench measures web analytics as people use it: a server in a process of its own, so that its processor
// time is its own, driven over HTTP from this one. It exists for `onefold bench analytics`, which prints its figures.
package analyticsbench
