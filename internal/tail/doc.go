// Package tail reads the lines of a file that another program writes, as they are written. It
// follows the file across rotation: renaming and recreation, or copying and truncation. It can
// continue where it stopped, even after a restart.
package tail
