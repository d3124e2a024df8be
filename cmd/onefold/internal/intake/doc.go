// Package intake converts files of other programs to events and passes them on: access logs of web
// servers, and event exports of other analytics tools. Each event has an ID derived from its
// content, so an event that is read twice counts once. The caller chooses the destination: a table,
// a server, or a dry run.
package intake
