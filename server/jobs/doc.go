// Package jobs tracks long-running work of a server, such as the check of a site's numbers, so that
// every server of the same table can report its progress. A job runs in the process that began it,
// which stores its state in an item every two seconds. At most one job of a kind runs on a subject,
// across all servers, unless a job was silent for so long that another replaced it. Jobs must
// tolerate that, as they must tolerate that a server is killed.
package jobs
