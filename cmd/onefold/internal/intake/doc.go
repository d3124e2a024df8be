// Package intake turns the files of other programs into events and hands them on: access logs of web servers, and what
// other analytics programs export event by event. Each event has an id made of its content, so whatever is read twice
// counts once. Only cmd/onefold uses it: what takes the events (a table, a server far away, or a rehearsal) is its choice.
package intake
