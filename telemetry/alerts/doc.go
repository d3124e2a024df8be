// Package alerts runs rules over readings in event time, keeps one alert per episode, and sends
// notifications. It builds on package telemetry, which knows nothing of it.
//
// # How alerts follow readings
//
// The alerts of a device and a rule are a function of a set: of the stored readings that arrived
// since the rule's version was created and are not retracted. So the same readings yield the same
// alerts with the same IDs, in whatever order and however often they arrive. The fold learns from
// the stream which readings arrived, and reads all others from the table. Each pair of device and
// rule has a Watch with this invariant:
//
//   - Of everything that was evaluated, all points after Until are at rest: none belongs to an
//     episode, not even a pending one. So a reading after Until that does not breach changes
//     nothing, and causes no reads or writes.
//   - Otherwise the machine is run again over the table, from a point at which it is known to be
//     idle: the first reading of the episode that covers the earliest change, or else the first of
//     the breaching readings right before it. It stops after all changes, as soon as both the
//     derived and the stored alerts are at rest, because they agree from there on.
//
// Differences are written in one transaction with the watch, on condition that nobody else wrote
// the watch. If they do not fit in one transaction, the latest are written first: earlier alerts
// are then still unchanged, so a later evaluation does not stop too early.
//
// # Corrections
//
// A late reading or a retraction amends the alerts that it affects: their times and values become
// what they would be if everything had arrived in order. An alert without an episode is withdrawn:
// it is kept for a year, listed as withdrawn, and the withdrawal is notified once if the alert was.
// If the episode only starts at another reading now, a new alert replaces the old one and takes
// over its acknowledgement and notifications. A transition of an alert is notified at most once,
// whatever is evaluated again.
package alerts
