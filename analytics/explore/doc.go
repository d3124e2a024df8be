// Package explore answers questions that stored statistics cannot, from raw events while they are
// kept: figures and breakdowns of filtered visits, lists of sessions and their events, journeys,
// funnels, user retention, and exports. Visits are built by the functions of the folds, so answers
// without a filter equal those of package report. Every question is limited in days, events read,
// and memory.
package explore
