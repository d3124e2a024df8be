// Package explore answers what no statistics were kept for, from raw facts while they last: figures and breakdowns of the
// visits that filters select, lists of sessions and what happened in them, ways through a site, funnels, how users come
// back, and exports. Visits are made of events by the functions of the folds, so without a filter it says what reports
// say. Every question is bounded in time, in the events that it reads and in the memory that it takes. It is used by
// server.
package explore
