// Package page writes a design as one page of HTML that needs nothing beside it: it can be opened, sent and printed. Its
// diagrams are SVG, drawn here.
package page
