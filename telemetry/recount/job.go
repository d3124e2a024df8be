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

// JobKey names a verification or rebuild. Fields that were not given are All.
type JobKey struct {
	FleetID  string `dynamodbav:"fleetId"`
	Verb     Verb   `dynamodbav:"verb"`
	DeviceID string `dynamodbav:"deviceId"`
	From     string `dynamodbav:"from"`
	To       string `dynamodbav:"to"`
}

// All stands in a JobKey for a field that was not given. It is not a valid ID.
const All = "*"

// Job is the progress of a verification or rebuild, so that an interrupted one can be resumed. It
// is deleted on completion.
type Job struct {
	JobKey
	Last  string      `dynamodbav:"last"` // last completed device
	Found Differences `dynamodbav:"found"`
	At    time.Time   `dynamodbav:"at"`
}

// keepJob is how long an interrupted job can be resumed. After that its results are outdated.
const keepJob = 24 * time.Hour

// Jobs holds the verifications and rebuilds in progress.
var Jobs = table.Define[Job, JobKey]("telemetry.recount", table.Def[Job]{
	PK: "FLEET#{fleetId}", SK: "RECOUNT#{verb}#{deviceId}#{from}#{to}", MaxBytes: 128 << 10,
	Expires: func(j *Job) time.Time { return j.At.Add(keepJob) },
	Doc:     "The progress of a fleet's verify or rebuild.",
})

// Schema holds the entities of this package and of package telemetry.
var Schema = table.MustSchema("recount", telemetry.Schema, Jobs, Verifications, LastVerification)

// resume loads the progress of an earlier run of the same job.
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

// finished stores that a device is completed.
func (r *recounter) finished(ctx context.Context, job *Job, id string) error {
	job.Last, job.Found, job.At = id, r.found, r.t.Now()
	if err := Jobs.Put(ctx, r.t, job); err != nil {
		return fmt.Errorf("save the progress: %w", err)
	}
	return nil
}
