package analytics

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"hash"
	"sync"
)

// visitorIDs makes the visitor ids of one day from its salt: 80 bits of HMAC-SHA256(salt, address, user agent). Neither
// address nor agent is kept. It is safe for concurrent use.
type visitorIDs struct {
	hashers sync.Pool // of *visitorHasher
}

type visitorHasher struct {
	mac hash.Hash
	buf []byte
	sum [sha256.Size]byte
}

const visitorIDBytes = 10

var visitorIDEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

func newVisitorIDs(salt []byte) *visitorIDs {
	return &visitorIDs{hashers: sync.Pool{New: func() any {
		return &visitorHasher{mac: hmac.New(sha256.New, salt)}
	}}}
}

// of is the id of who has this address and user agent: 16 characters.
func (v *visitorIDs) of(address, agent string) string {
	h, ok := v.hashers.Get().(*visitorHasher)
	if !ok {
		return "" // the pool holds nothing else
	}
	defer v.hashers.Put(h)
	h.mac.Reset()
	h.buf = append(h.buf[:0], address...)
	h.buf = append(append(h.buf, 0), agent...)
	h.mac.Write(h.buf) // a hash never fails
	return visitorIDEncoding.EncodeToString(h.mac.Sum(h.sum[:0])[:visitorIDBytes])
}

// importSalt is the salt of an imported day: always the same for a site, so that a line that is imported again has the
// visitor that it had.
func importSalt(key []byte, day string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(day))
	return mac.Sum(nil)
}
