// Package blueprint generates the documentation of a table design from its table.Schema, which is
// the code that runs: entities and access patterns, executed on example rows. So the documentation
// cannot become outdated. The package imports only the kit; the caller provides a store to run the
// patterns on.
//
// New makes a Design, which can be written as Markdown, HTML or JSON.
package blueprint
