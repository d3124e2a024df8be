package dynamohttp

import (
	"crypto/rand"
	"encoding/base32"
)

// newRequestID returns a random ID in the form of AWS: 52 characters of 0-9 and A-V.
func newRequestID() string {
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails
	return base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(random[:])
}
