package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/table"
)

// JobKey names a verify or rebuild of a range of days.
type JobKey struct {
	Group  string `dynamodbav:"group"` // of folds
	Verb   Verb   `dynamodbav:"verb"`
	SiteID string `dynamodbav:"siteId"`
	From   string `dynamodbav:"from"`
	To     string `dynamodbav:"to"`
}

// Job is how far a verify or rebuild came, so that it can go on after it was stopped. It is deleted at the end.
type Job struct {
	JobKey
	Last  string      `dynamodbav:"last"` // day that was finished last
	Found Differences `dynamodbav:"found"`
	At    time.Time   `dynamodbav:"at"`
}

// keepJob is how long a stopped job can go on. What it has compared says little after that.
const keepJob = 24 * time.Hour

// Jobs are the verifies and rebuilds in progress.
var Jobs = table.Define[Job, JobKey]("analytics.job", table.Def[Job]{
	PK: "FOLD#{group}", SK: "JOB#{verb}#{siteId}#{from}#{to}",
	Expires: func(j *Job) time.Time { return j.At.Add(keepJob) },
	Doc:     "How far a verify or rebuild came.",
})

// Schema is all that this package stores, beside what it is asked of.
var Schema = table.MustSchema("reconcile", analytics.Schema, Jobs, Verifications, LastVerification)

// resume finds how far the same job came before.
func (r *reconciler) resume(ctx context.Context, in RangeIn) (*Job, error) {
	key := JobKey{analytics.FoldGroup, r.verb, in.Site, in.From, in.To}
	job, err := Jobs.Get(ctx, r.t, key)
	switch {
	case errors.Is(err, table.ErrNotFound):
		return &Job{JobKey: key}, nil
	case err != nil:
		return nil, fmt.Errorf("read the progress: %w", err)
	}
	r.found = job.Found
	return &job, nil
}

// finished writes down that a day is done.
func (r *reconciler) finished(ctx context.Context, job *Job, day string) error {
	job.Last, job.Found, job.At = day, r.found, r.t.Now()
	if err := Jobs.Put(ctx, r.t, job); err != nil {
		return fmt.Errorf("write the progress down: %w", err)
	}
	return nil
}
