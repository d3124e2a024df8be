package engine_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
)

// TestNilInput calls every operation with nil, which the SDK's client treats as an empty input. The
// engine must refuse it, unless the operation requires nothing in its input.
func TestNilInput(t *testing.T) {
	db := memory(t, engine.Options{})
	of := reflect.ValueOf(db)
	empty := map[string]bool{"ListTables": true, "ListStreams": true, "DescribeLimits": true, "DescribeEndpoints": true,
		"ListBackups": true, "ListExports": true, "ListImports": true, "ListGlobalTables": true, "ListContributorInsights": true}
	operations := 0
	for i := range of.NumMethod() {
		name, method := of.Type().Method(i).Name, of.Method(i)
		if method.Type().NumIn() < 2 || method.Type().In(1).Kind() != reflect.Pointer {
			continue
		}
		operations++
		t.Run(name, func(t *testing.T) {
			args := []reflect.Value{reflect.ValueOf(context.Background())}
			for j := 1; j < method.Type().NumIn() && (j == 1 || !method.Type().IsVariadic()); j++ {
				args = append(args, reflect.Zero(method.Type().In(j)))
			}
			outs := method.Call(args)
			err, _ := outs[len(outs)-1].Interface().(error)
			if empty[name] != (err == nil) || err != nil && dynamo.Code(err) != dynamo.CodeValidation {
				t.Errorf("got %v", err)
			}
		})
	}
	if operations < 30 {
		t.Errorf("only %d operations were found", operations)
	}
	if errs := db.PutItems(context.Background(), []*dynamodb.PutItemInput{nil}); dynamo.Code(errs[0]) != dynamo.CodeValidation {
		t.Errorf("PutItems: got %v", errs)
	}
}
