// Package traffic simulates the traffic of a web site: visits of people with their browsers,
// sources and habits, with daily and weekly cycles, and bots. It is for demonstrations and
// benchmarks, which need years of traffic and must not use real people's data. Equal options give
// equal traffic.
//
// It contains no real visitors: addresses come from ranges that visitors cannot have (100.64.0.0/10
// of RFC 6598, 2001:db8::/32 of RFC 3849), and the site is example.com.
package traffic
