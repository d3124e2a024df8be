package request

import (
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// Cancelled converts the errors of single actions to the transaction's error. An error of the store
// is returned as it is.
func Cancelled(reasons []error) error {
	out := make([]types.CancellationReason, len(reasons))
	codes := make([]string, len(reasons))
	for i, err := range reasons {
		var api smithy.APIError
		var failed *types.ConditionalCheckFailedException
		code, msg := "None", ""
		switch {
		case err == nil:
		case errors.As(err, &failed):
			code, msg = "ConditionalCheckFailed", ConditionFailed
			out[i].Item = failed.Item
		case errors.As(err, &api):
			code, msg = ReasonCode(api), api.ErrorMessage()
		default:
			return err
		}
		codes[i], out[i].Code = code, &code
		if msg != "" {
			out[i].Message = &msg
		}
	}
	return CancelledFor(codes, out)
}

// CancelledFor returns the error of a transaction cancelled for reasons with the given codes.
func CancelledFor(codes []string, reasons []types.CancellationReason) error {
	msg := "Transaction cancelled, please refer cancellation reasons for specific reasons [" + strings.Join(codes, ", ") + "]"
	return &types.TransactionCanceledException{Message: &msg, CancellationReasons: reasons}
}

// ReasonCode returns the code for the failure of one member of a transaction or batch.
func ReasonCode(err smithy.APIError) string {
	switch code := err.ErrorCode(); code {
	case "ValidationException":
		return "ValidationError"
	case "ThrottlingException":
		return "ThrottlingError"
	default:
		return strings.TrimSuffix(code, "Exception")
	}
}
