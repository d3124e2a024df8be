// Package alerts tells people when the traffic of a site is unusual: a spike or drop against the same
// weekday and hour of the weeks before, silence, a goal that nobody reaches any more, web vitals that
// got worse.
//
// # Hours
//
// A rule judges each hour once, ten minutes after the hour has ended, and remembers the state of its
// alert. Events that arrive later count in statistics, but do not change an alert. After an
// outage, the hours that were missed are judged, up to 24 of them. Alerts that have ended by then are
// listed, but not sent.
//
// # One stored message per alert, state, channel and recipient
//
// An evaluation changes the rule in one write, on the condition that no other process has: the hour up
// to which it is judged, the state, and the alerts that are to be told. Then it stores these in the
// history and as messages, whose IDs consist of the alert and its state, and removes them from the rule.
// If it dies in between, the next process does that again, which changes nothing. So several processes
// need no lease. Package table/delivery sends each message at least once, with the same ID.
package alerts
