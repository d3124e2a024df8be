package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/table"
)

// JobKey names a verification or rebuild of a range of days.
type JobKey struct {
	Group  string `dynamodbav:"group"` // of folds
	Verb   Verb   `dynamodbav:"verb"`
	SiteID string `dynamodbav:"siteId"`
	From   string `dynamodbav:"from"`
	To     string `dynamodbav:"to"`
}

// Job is the progress of a verification or rebuild, so that an interrupted one can be resumed. It
// is deleted on completion.
type Job struct {
	JobKey
	Last  string      `dynamodbav:"last"` // last completed day
	Found Differences `dynamodbav:"found"`
	At    time.Time   `dynamodbav:"at"`
}

// keepJob is how long an interrupted job can be resumed. After that its results are outdated.
const keepJob = 24 * time.Hour

// Jobs holds the verifications and rebuilds in progress.
var Jobs = table.Define[Job, JobKey]("analytics.job", table.Def[Job]{
	PK: "FOLD#{group}", SK: "JOB#{verb}#{siteId}#{from}#{to}",
	Expires: func(j *Job) time.Time { return j.At.Add(keepJob) },
	Doc:     "The progress of a site's verify or rebuild.",
})

// Schema holds the entities of this package and of package analytics.
var Schema = table.MustSchema("reconcile", analytics.Schema, Jobs, Verifications, LastVerification)

// resume loads the progress of an earlier run of the same job.
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

// finished stores that a day is completed.
func (r *reconciler) finished(ctx context.Context, job *Job, day string) error {
	job.Last, job.Found, job.At = day, r.found, r.t.Now()
	if err := Jobs.Put(ctx, r.t, job); err != nil {
		return fmt.Errorf("save the progress: %w", err)
	}
	return nil
}
