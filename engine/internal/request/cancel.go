package request

import (
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// Cancelled turns the failures of single actions into the transaction's answer. A failure of the store is none.
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
			code, msg = "ValidationError", api.ErrorMessage()
		default:
			return err
		}
		codes[i], out[i].Code = code, &code
		if msg != "" {
			out[i].Message = &msg
		}
	}
	msg := "Transaction cancelled, please refer cancellation reasons for specific reasons [" + strings.Join(codes, ", ") + "]"
	return &types.TransactionCanceledException{Message: &msg, CancellationReasons: out}
}
