// Package alerts says when somebody has to look: it runs rules over what devices measured, in event time, keeps one alert
// an episode, and sends notifications of it. Servers and commands use it; it stands on telemetry, and telemetry knows
// nothing of it.
//
// # How alerts follow readings
//
// The alerts of a device and a rule are a function of a set: of the readings in the table that arrived since the rule's
// version was made and are not retracted. So the same readings make the same alerts, with the same ids, in whatever order
// they come, however often. An observer of the stream is told which readings came; it reads the rest from the table. Per
// device and rule there is a Watch, with this invariant:
//
//   - of everything that has been evaluated, all points behind Until are at rest: none is part of an episode, pending ones
//     included. So a reading behind Until that does not breach changes nothing, and nothing is read or written for it.
//   - otherwise the machine is run again over the table, from a point where it is known to be idle: the first reading of
//     the episode that covers the earliest change, or else the first of the breaching ones right before it. It stops
//     behind all changes as soon as both what is derived and what is stored are at rest, for from there on they agree.
//
// What differs is written in one transaction with the watch, on condition that nobody else wrote the watch. If it is too
// much for one, the latest goes first: then what is stored before is as it was, and whoever goes on will not stop early.
//
// # Corrections
//
// An alert that a late reading or a retraction changes is amended: times and values are as if all had come in order. One
// that has no episode any more is withdrawn: kept for a year, listed as such, and told once to who was told of it. If its
// episode merely begins elsewhere now, the new alert replaces it and takes over who has acknowledged it and what has been
// told. A transition of an alert is told at most once, whatever is evaluated again.
package alerts
