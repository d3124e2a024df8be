package enginetest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/engine/enginetest"
)

// tester records the failures that are reported to a test.
type tester struct {
	*testing.T
	fatal string
}

// Fatalf implements enginetest.T.
func (t *tester) Fatalf(format string, args ...any) { t.fatal = fmt.Sprintf(format, args...) }

// TestMisuse injects faults that can never fire.
func TestMisuse(t *testing.T) {
	told := &tester{T: t}
	db := enginetest.New(told)
	for name, misuse := range map[string]func(){
		"operation": func() { db.Inject(enginetest.Fault{Op: "PutItme"}) },
		"effect":    func() { db.Inject(enginetest.Fault{Effect: 99}) },
		"nth":       func() { db.Inject(enginetest.Fault{Nth: -1}) },
		"every":     func() { db.Inject(enginetest.Fault{Every: -1}) },
		"time":      func() { db.Advance(-time.Second) },
	} {
		told.fatal = ""
		if misuse(); told.fatal == "" {
			t.Errorf("%s: the test went on", name)
		}
	}
	if _, err := db.GetItem(context.Background(), nil); dynamo.Code(err) != dynamo.CodeValidation {
		t.Errorf("nil: %v", err)
	}
}

// TestClosed closes a database before its test ends. Injected faults must not hide that.
func TestClosed(t *testing.T) {
	db := enginetest.New(t, enginetest.Inject(enginetest.Fault{Effect: enginetest.Fail}))
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ListTables(context.Background(), &dynamodb.ListTablesInput{}); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("got %v", err)
	}
}
