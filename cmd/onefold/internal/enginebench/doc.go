// Package enginebench measures the embedded engine beside what bounds it: raw Pebble with the same rows for work in
// process, a server that answers nothing for the wire. Both sides of a figure take turns within one run, so that a
// ratio says something on a machine that is not quiet. It exists for `onefold bench engine`, which prints it; as the
// measure of the engine it is, beside the engine, the only importer of Pebble.
package enginebench
