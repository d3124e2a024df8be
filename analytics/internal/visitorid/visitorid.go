// Package visitorid computes visitor IDs from addresses and user agents. Neither can be recovered
// from an ID once the salt of its day is deleted.
package visitorid

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"hash"
	"sync"
)

// IDs computes the visitor IDs of one day from its salt: 80 bits of HMAC-SHA256(salt, address, user
// agent). It stores neither address nor user agent. It is safe for concurrent use.
type IDs struct {
	hashers sync.Pool // *hasher
}

type hasher struct {
	mac hash.Hash
	buf []byte
	sum [sha256.Size]byte
}

const idBytes = 10

var encoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// New returns the IDs of a day with the given salt.
func New(salt []byte) *IDs {
	return &IDs{hashers: sync.Pool{New: func() any {
		return &hasher{mac: hmac.New(sha256.New, salt)}
	}}}
}

// Of returns the ID for an address and user agent: 16 characters.
func (v *IDs) Of(address, agent string) string {
	h, ok := v.hashers.Get().(*hasher)
	if !ok {
		return "" // impossible: the pool holds only hashers
	}
	defer v.hashers.Put(h)
	h.mac.Reset()
	h.buf = append(h.buf[:0], address...)
	h.buf = append(append(h.buf, 0), agent...)
	h.mac.Write(h.buf) // a hash.Hash never returns an error
	return encoding.EncodeToString(h.mac.Sum(h.sum[:0])[:idBytes])
}

// ImportSalt returns the salt of an imported day. It is constant for a site, so that a line that is
// imported again has the same visitor.
func ImportSalt(key []byte, day string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(day))
	return mac.Sum(nil)
}
