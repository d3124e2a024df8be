package resilient_test

import (
	"testing"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/dynamo/dynamotest"
	"github.com/onefold/onefold/dynamo/resilient"
	"github.com/onefold/onefold/engine"
)

// TestConformance checks that an API behind a Store behaves like that API.
func TestConformance(t *testing.T) {
	dynamotest.Run(t, func(t *testing.T) (dynamo.API, dynamo.Streams) {
		db, err := engine.OpenMemory(engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		return resilient.Wrap(db, resilient.Options{}), resilient.WrapStreams(db, resilient.Options{})
	}, nil)
}
