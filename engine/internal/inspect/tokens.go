package inspect

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/onefold/onefold/engine/internal/row"
)

// The row of a token: its expiry, 8 bytes, and the digest of its request.
const tokenRow = 8 + sha256.Size

// checkTokens checks that every idempotency token has its two rows.
func (c *checker) checkTokens() error {
	err := c.each([]byte{row.SpaceToken}, []byte{row.SpaceToken + 1}, func(key, value []byte) error {
		c.sum.Tokens++
		if len(value) != tokenRow {
			c.find(Unreadable, nil, "", hex(key), "the token's row has %d bytes: a repeated transaction is done again", len(value))
			return nil
		}
		_, found, err := c.get(append(append([]byte{row.SpaceTokenTime}, value[:8]...), key[1:]...))
		if err == nil && !found {
			c.find(TokenOrphan, nil, "", hex(key), "the token is never forgotten: it only takes room")
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.each([]byte{row.SpaceTokenTime}, []byte{row.SpaceTokenTime + 1}, func(key, _ []byte) error {
		if len(key) <= 1+8 {
			c.find(Unreadable, nil, "", hex(key), "the token's time cannot be read")
			return nil
		}
		_, found, err := c.get(append([]byte{row.SpaceToken}, key[1+8:]...))
		if err == nil && !found {
			c.find(TokenOrphan, nil, "", hex(key), "lapses at %d milliseconds since 1970 and is not there: the transaction may be done again", binary.BigEndian.Uint64(key[1:]))
		}
		return err
	})
}
