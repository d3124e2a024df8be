// Package logimport turns files of other programs into events: access logs of web servers, and exports of other analytics
// products, event by event. The ID of an event is made of its content, so a line that is read twice counts once. The
// caller chooses the destination: a table, a remote server, or a dry run.
package logimport
