package infra

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/table"
)

// ErrDiffers is returned if a table differs from its schema in a way that no update can change.
var ErrDiffers = errors.New("infra: table differs")

// Applying configures Apply.
type Applying struct {
	Options
	// Prune deletes indexes that are not in the schema, and recreates those with other keys.
	// Without it, the former are kept and the latter are an error, because queries of other
	// programs may need them.
	Prune bool
	// DryRun makes no changes: Apply reports the first step, and the others as far as they are
	// known.
	DryRun bool
	// OnProgress is called when a step begins (with Waited 0), while it is in progress, and when it is
	// done.
	OnProgress func(Progress)
	// Sleep waits between checks whether a step is done.
	Sleep func(context.Context, time.Duration) error
}

// Applied lists what Apply has done, or would do.
type Applied struct {
	Did []string
	// Lacks lists the steps that the service accepted without effect, or does not support:
	// protection and backups, on other servers with DynamoDB's API. DynamoDB supports all.
	Lacks []string
}

// lacks records a step that the service does not support.
func (d *Applied) lacks(step string) {
	if !slices.Contains(d.Lacks, step) {
		d.Lacks = append(d.Lacks, step)
	}
}

// Progress is the progress of a step.
type Progress struct {
	Step   string // such as "add index gsi2"
	Waited time.Duration
	Done   bool
}

// pollEvery is the interval between checks of a table's status. DescribeTable is limited to 10
// calls a second.
const pollEvery = 2 * time.Second

// step is one update of a table. DynamoDB allows one at a time: after an index is created or
// deleted, the table must become active again.
type step struct {
	does string
	do   func(ctx context.Context, api dynamo.API) error
	soft bool // other servers with DynamoDB's API may accept it without effect

	unknown bool // the service does not support it
}

// Apply creates the schema's table, or updates an existing one to the schema, one update at a time,
// and waits for each. It can be interrupted and called again. Errors: ErrOptions, ErrDiffers, and
// those of the API.
func Apply(ctx context.Context, api dynamo.API, s *table.Schema, a Applying) (done Applied, err error) {
	if err := a.complete(s); err != nil {
		return done, err
	}
	for {
		d, err := a.settled(ctx, api)
		if err != nil {
			return done, err
		}
		steps, err := a.steps(ctx, api, s, d)
		if err != nil {
			return done, err
		}
		steps = done.without(steps)
		if a.DryRun {
			for _, st := range steps {
				done.Did = append(done.Did, st.does)
			}
			return done, nil
		}
		switch {
		case len(steps) == 0:
			return done, nil
		case slices.Contains(done.Did, steps[0].does):
			return done, fmt.Errorf("%w: no_effect: the service accepted the update %q, but the table did not change", ErrDiffers, steps[0].does)
		}
		if err := a.run(ctx, api, steps[0]); err != nil {
			return done, fmt.Errorf("infra: %s: %w", steps[0].does, err)
		}
		done.Did = append(done.Did, steps[0].does)
	}
}

// without removes and records the steps that the service does not support.
func (d *Applied) without(steps []step) []step {
	return slices.DeleteFunc(steps, func(st step) bool {
		i := slices.Index(d.Did, st.does)
		if !st.unknown && (!st.soft || i < 0) {
			return false
		}
		if d.lacks(st.does); i >= 0 {
			d.Did = slices.Delete(d.Did, i, i+1)
		}
		return true
	})
}

// run performs a step and waits until the table accepts another.
func (a *Applying) run(ctx context.Context, api dynamo.API, st step) error {
	a.report(Progress{Step: st.does})
	if err := st.do(ctx, api); err != nil {
		return err
	}
	for waited := time.Duration(0); ; waited += pollEvery {
		d, err := a.describe(ctx, api)
		if err != nil {
			return err
		}
		if d != nil && settled(d) {
			a.report(Progress{Step: st.does, Waited: waited, Done: true})
			return nil
		}
		a.report(Progress{Step: st.does, Waited: waited})
		if err := a.Sleep(ctx, pollEvery); err != nil {
			return err
		}
	}
}

func (a *Applying) report(p Progress) {
	if a.OnProgress != nil {
		a.OnProgress(p)
	}
}

// settled waits for updates started elsewhere. It returns nil if the table does not exist.
func (a *Applying) settled(ctx context.Context, api dynamo.API) (*types.TableDescription, error) {
	for waited := time.Duration(0); ; waited += pollEvery {
		d, err := a.describe(ctx, api)
		if err != nil || d == nil || settled(d) || a.DryRun {
			return d, err
		}
		a.report(Progress{Step: "wait for an update that goes on", Waited: waited})
		if err := a.Sleep(ctx, pollEvery); err != nil {
			return nil, err
		}
	}
}

func (a *Applying) describe(ctx context.Context, api dynamo.API) (*types.TableDescription, error) {
	out, err := api.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &a.TableName})
	if dynamo.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return out.Table, nil
}

// settled reports whether a table accepts updates.
func settled(d *types.TableDescription) bool {
	if d.TableStatus != types.TableStatusActive {
		return false
	}
	for _, x := range d.GlobalSecondaryIndexes {
		if x.IndexStatus != types.IndexStatusActive {
			return false
		}
	}
	return true
}
