package catalog

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/request"
)

// Encryption is the encryption key requested for a table. It is only reported; nothing is encrypted
// with it.
type Encryption struct {
	Key string `json:"key,omitempty"` // ID or ARN; "" for the account's default key
}

// setEncryption validates a specification and stores it.
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

// describe returns the key in the form of the API, or nil for the default key, which is not
// reported.
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
