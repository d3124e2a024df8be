// Package jobs is long work of a server, such as a check of a site's numbers, of which every server of the same table tells how far
// it is: whoever began it may ask another one. It goes on in the process that began it; an item says every two seconds how
// far it has come, and that it goes on. At most one job of a kind works on a thing, on all servers together, unless one was
// silent for so long that another took its place: jobs must bear that, as they must bear that a server is killed.
package jobs
