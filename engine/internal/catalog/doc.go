// Package catalog is what the engine remembers of its tables and streams: descriptors, how they are made of requests and
// checked, how they are stored, and which items fit them. It exists so that all of that can be read and tested without a
// store; only the engine uses it.
package catalog
