// Command onefold-lambda runs onefold as AWS Lambda functions. ONEFOLD_MODE selects the function of
// the program: to fold the table's changes (stream or work), to accept facts (ingest), or to run
// maintenance (schedule).
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
	log.SetFlags(0) // the runtime logs failures as JSON, which a timestamp would break
	logger := slog.New(slog.NewJSONHandler(os.Stdout, nil))
	handler, err := function.New(context.Background(), function.Environment{Get: os.Getenv, Out: os.Stdout, Logger: logger, Version: version})
	if err != nil {
		logger.Error("the function cannot start", "error", err)
		os.Exit(1)
	}
	lambda.Start(handler)
}
