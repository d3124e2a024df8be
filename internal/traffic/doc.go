// Package traffic makes up the traffic of a web site: visits of people with their browsers, sources and habits, through
// the days and the weeks, and the bots around them. It exists for demonstrations and benchmarks, which need years of it
// and must not need anybody's real data. The same options give the same traffic, each time.
//
// Nobody is met in it: addresses come from ranges that no visitor can have (100.64.0.0/10 of RFC 6598, 2001:db8::/32 of
// RFC 3849), and the site is example.com.
package traffic
