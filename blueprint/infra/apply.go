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

// ErrDiffers is returned when a table differs from its schema in what no update can change.
var ErrDiffers = errors.New("infra: table differs")

// Applying says how a table is brought to its schema.
type Applying struct {
	Options
	// Prune removes indexes that the schema does not have, and makes those anew that have other keys. Without it the first
	// are left alone, and the second are an error: a query of another program may need them.
	Prune bool
	// DryRun asks and changes nothing: Apply tells the first step, and what it can tell of the others.
	DryRun bool
	// Tell is called as a step begins (Waited is 0), while it goes on, and when it is done.
	Tell func(Progress)
	// Sleep waits between questions whether a step is done.
	Sleep func(context.Context, time.Duration) error
}

// Applied is what Apply did, or would do.
type Applied struct {
	Did []string
	// Lacks are the steps that the service took and did not do, or that it knows nothing of: protection and backups, on servers that
	// only speak the API. DynamoDB lacks none.
	Lacks []string
}

// lacks notes what the service does not do.
func (d *Applied) lacks(step string) {
	if !slices.Contains(d.Lacks, step) {
		d.Lacks = append(d.Lacks, step)
	}
}

// Progress is how far a step is.
type Progress struct {
	Step   string // what is done, such as "add index gsi2"
	Waited time.Duration
	Done   bool
}

// pollEvery is how often a table is asked whether it is ready. DescribeTable may be asked 10 times a second.
const pollEvery = 2 * time.Second

// step is one update of a table. DynamoDB takes one at a time: one index is made or removed, then the table has to be active again.
type step struct {
	does string
	do   func(ctx context.Context, api dynamo.API) error
	soft bool // servers that speak DynamoDB's API may take it and do nothing

	unknown bool // the service knows nothing of it
}

// Apply makes the schema's table, or brings one that is there to the schema, one update at a time, and waits for each. It may be
// broken off and called again. Errors: ErrOptions, ErrDiffers, the API's.
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
			return done, fmt.Errorf("%w: no_effect: the service took the update %q, and the table is as it was", ErrDiffers, steps[0].does)
		}
		if err := a.run(ctx, api, steps[0]); err != nil {
			return done, fmt.Errorf("infra: %s: %w", steps[0].does, err)
		}
		done.Did = append(done.Did, steps[0].does)
	}
}

// without leaves out, and notes, the steps that the service lacks.
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

// run does a step and waits until the table takes another.
func (a *Applying) run(ctx context.Context, api dynamo.API, st step) error {
	a.tell(Progress{Step: st.does})
	if err := st.do(ctx, api); err != nil {
		return err
	}
	for waited := time.Duration(0); ; waited += pollEvery {
		d, err := a.describe(ctx, api)
		if err != nil {
			return err
		}
		if d != nil && settled(d) {
			a.tell(Progress{Step: st.does, Waited: waited, Done: true})
			return nil
		}
		a.tell(Progress{Step: st.does, Waited: waited})
		if err := a.Sleep(ctx, pollEvery); err != nil {
			return err
		}
	}
}

func (a *Applying) tell(p Progress) {
	if a.Tell != nil {
		a.Tell(p)
	}
}

// settled waits for updates that somebody else began. It returns nil if there is no table.
func (a *Applying) settled(ctx context.Context, api dynamo.API) (*types.TableDescription, error) {
	for waited := time.Duration(0); ; waited += pollEvery {
		d, err := a.describe(ctx, api)
		if err != nil || d == nil || settled(d) || a.DryRun {
			return d, err
		}
		a.tell(Progress{Step: "wait for an update that goes on", Waited: waited})
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

// settled reports whether a table takes an update.
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
