// Command onefold-lambda is onefold as functions of AWS Lambda: one program, of which ONEFOLD_MODE says what it does. Folding the
// table's changes, taking facts in, or looking after what is due.
package main

import (
	"context"
	"log"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/onefold/onefold/cmd/onefold-lambda/internal/function"
)

// version is set by the build.
var version = "dev"

func main() {
	log.SetFlags(0) // the runtime logs failures as JSON, to which a time would be put
	logger := slog.New(slog.NewJSONHandler(os.Stdout, nil))
	handler, err := function.New(context.Background(), function.Environment{Get: os.Getenv, Out: os.Stdout, Logger: logger, Version: version})
	if err != nil {
		logger.Error("the function cannot start", "error", err)
		os.Exit(1)
	}
	lambda.Start(handler)
}
