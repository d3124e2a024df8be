// Package page writes a design as one self-contained HTML page, which can be opened, sent and
// printed. Its diagrams are SVG.
package page
