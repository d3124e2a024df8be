// Package tail reads the lines of a file that another program writes, as they come, and across the ways in which such
// files are rotated: renamed and made anew, or copied and truncated. It can go on where it stopped, after a restart, too.
// It knows nothing of logs; whoever follows a file may use it.
package tail
