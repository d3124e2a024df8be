// Package telemetry takes in what devices measure and keeps it exact whatever devices do: send twice, late, out of order,
// with clocks that are wrong. It says what is stored, what is asked and what is derived: readings are facts, stored once;
// aggregates, the status of devices and the lists of a fleet are folds of them. Servers, rules and commands build on it;
// it imports only the kit and leaves.
package telemetry
