package engine_test

import (
	"testing"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/dynamo/dynamotest"
	"github.com/onefold/onefold/engine"
)

func TestConformance(t *testing.T) {
	for name, o := range map[string]engine.Options{"one shard": {}, "four shards, rolled": {StreamShards: 4, RollEvery: 2}} {
		t.Run(name, func(t *testing.T) {
			dynamotest.Run(t, func(t *testing.T) (dynamo.API, dynamo.Streams) {
				db := memory(t, o)
				return db, db
			}, nil)
		})
	}
}
