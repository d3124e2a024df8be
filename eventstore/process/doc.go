// Package process runs process managers: long-running processes over several aggregates, which react
// to events with commands, wait with deadlines, and compensate for commands that are refused. They are
// also known as sagas.
//
// An instance of a process is a stream of its reactions. A reaction is stored, together with the
// state, the commands and the deadlines that follow from it, before anything is done. Its commit ID is
// that of the event, so an event has one reaction however often it is delivered. The commit ID of a
// command is derived from the reaction, so the command has one effect.
package process
