// Package blueprint turns a table.Schema, which is the code that runs, into what a team otherwise draws and lets rot: the
// design of the table with its access patterns, executed on example rows. It imports only the kit; what it runs the
// patterns on is the caller's.
//
// The way in is New; a Design is written as Markdown, HTML or JSON.
package blueprint
