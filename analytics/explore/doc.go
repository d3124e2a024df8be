// Package explore answers questions that stored statistics cannot, from raw events while they are
// kept: figures and breakdowns of filtered visits, lists of sessions and their events, journeys,
// funnels, user retention, and exports. Visits are built by the functions of the folds, so answers
// without a filter equal those of package report. Every question is limited in days, events read,
// and memory.
//
// # How a question is answered
//
//	question ──► scan: the days of the range ──► columns of each day ──► counts, sessions, steps …
//	                                                ▲
//	              memory; else a file; else raw events, from the table or the archive
//
// The columns of a day hold its visits with their events, one column per property, and are the same
// wherever they come from. Making them from raw events takes most of the time of a question, so they
// are kept in memory, and those of completed days in files.
//
// Cached columns are always current. Watched counts the writes of each hour; when an event of a day is
// written, the columns of the day are built again. A file has the fingerprint of the events that it was
// made from. After a restart, the fingerprint is compared with the stored events before the file is used.
package explore
