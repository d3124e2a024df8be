package catalog

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/request"
)

// Encryption is the key that a table asks to be encrypted with. It is told, and nothing is encrypted with it.
type Encryption struct {
	Key string `json:"key,omitempty"` // id or ARN, "" for the account's own
}

// setEncryption checks a specification and notes it.
func (d *Table) setEncryption(s *types.SSESpecification) error {
	if s == nil {
		return nil
	}
	on := request.IsTrue(s.Enabled)
	switch {
	case !on && s.SSEType != "":
		return request.Invalid(invalid + "SSEType can not be specified if Enabled is false")
	case !on && s.KMSMasterKeyId != nil:
		return request.Invalid(invalid + "KMSMasterKeyId can not be specified if Enabled is false")
	case s.SSEType == types.SSETypeAes256:
		return request.Invalid(invalid + "SSEType AES256 is not supported")
	case on:
		d.Encryption = new(Encryption)
		if s.KMSMasterKeyId != nil {
			d.Encryption.Key = *s.KMSMasterKeyId
		}
	default:
		d.Encryption = nil
	}
	return nil
}

// describe writes the key as the API does, for a table of the given ARN; nil for the default key, which is not told.
func (e *Encryption) describe(tableARN string) *types.SSEDescription {
	if e == nil {
		return nil
	}
	key := e.Key
	if key == "" {
		key = "alias/aws/dynamodb"
	}
	if !strings.HasPrefix(key, "arn:") {
		kind := "key/"
		if strings.HasPrefix(key, "alias/") {
			kind = ""
		}
		account, _, _ := strings.Cut(strings.TrimPrefix(tableARN, "arn:aws:dynamodb:"), ":table/")
		key = "arn:aws:kms:" + account + ":" + kind + key
	}
	return &types.SSEDescription{Status: types.SSEStatusEnabled, SSEType: types.SSETypeKms, KMSMasterKeyArn: &key}
}
