package recount

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

// JobKey names a verify or rebuild. All stands for what was not named.
type JobKey struct {
	FleetID  string `dynamodbav:"fleetId"`
	Verb     Verb   `dynamodbav:"verb"`
	DeviceID string `dynamodbav:"deviceId"`
	From     string `dynamodbav:"from"`
	To       string `dynamodbav:"to"`
}

// All is in a JobKey what was not named. No id contains it.
const All = "*"

// Job is how far a verify or rebuild came, so that it can go on after it was stopped. It is deleted at the end.
type Job struct {
	JobKey
	Last  string      `dynamodbav:"last"` // device that was finished last
	Found Differences `dynamodbav:"found"`
	At    time.Time   `dynamodbav:"at"`
}

// keepJob is how long a stopped job can go on. What it has compared says little after that.
const keepJob = 24 * time.Hour

// Jobs are the verifies and rebuilds in progress.
var Jobs = table.Define[Job, JobKey]("telemetry.recount", table.Def[Job]{
	PK: "FLEET#{fleetId}", SK: "RECOUNT#{verb}#{deviceId}#{from}#{to}", MaxBytes: 128 << 10,
	Expires: func(j *Job) time.Time { return j.At.Add(keepJob) },
	Doc:     "How far a verify or rebuild of a fleet came.",
})

// Schema is all that this package stores, beside what it compares.
var Schema = table.MustSchema("recount", telemetry.Schema, Jobs, Verifications, LastVerification)

// resume finds how far the same job came before.
func (r *recounter) resume(ctx context.Context) (*Job, error) {
	key := JobKey{r.in.Fleet, r.verb, cmp.Or(r.in.Device, All), cmp.Or(r.in.From, All), cmp.Or(r.in.To, All)}
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

// finished writes down that a device is done.
func (r *recounter) finished(ctx context.Context, job *Job, id string) error {
	job.Last, job.Found, job.At = id, r.found, r.t.Now()
	if err := Jobs.Put(ctx, r.t, job); err != nil {
		return fmt.Errorf("write the progress down: %w", err)
	}
	return nil
}
