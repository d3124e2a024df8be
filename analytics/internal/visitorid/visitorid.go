// Package visitorid makes visitors' ids of addresses and user agents, neither of which can be told from them once the
// salt of their day is gone. It is a part of analytics, and used by nobody else.
package visitorid

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"hash"
	"sync"
)

// IDs makes the visitor ids of one day from its salt: 80 bits of HMAC-SHA256(salt, address, user agent). Neither
// address nor agent is kept. It is safe for concurrent use.
type IDs struct {
	hashers sync.Pool // of *hasher
}

type hasher struct {
	mac hash.Hash
	buf []byte
	sum [sha256.Size]byte
}

const idBytes = 10

var encoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// New makes the ids of a day.
func New(salt []byte) *IDs {
	return &IDs{hashers: sync.Pool{New: func() any {
		return &hasher{mac: hmac.New(sha256.New, salt)}
	}}}
}

// Of is the id of who has this address and user agent: 16 characters.
func (v *IDs) Of(address, agent string) string {
	h, ok := v.hashers.Get().(*hasher)
	if !ok {
		return "" // the pool holds nothing else
	}
	defer v.hashers.Put(h)
	h.mac.Reset()
	h.buf = append(h.buf[:0], address...)
	h.buf = append(append(h.buf, 0), agent...)
	h.mac.Write(h.buf) // a hash never fails
	return encoding.EncodeToString(h.mac.Sum(h.sum[:0])[:idBytes])
}

// ImportSalt is the salt of an imported day: always the same for a site, so that a line that is imported again has the
// visitor that it had.
func ImportSalt(key []byte, day string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(day))
	return mac.Sum(nil)
}
