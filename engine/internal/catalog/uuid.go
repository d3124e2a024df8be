package catalog

import (
	"crypto/rand"
	"encoding/hex"
)

// NewUUID returns a random UUID, which distinguishes a table from an earlier one of the same name.
func NewUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // documented to never fail
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
