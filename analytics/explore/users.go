package explore

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
)

// userKey keys the hashes of users, so that columns do not identify anybody without it. An Explorer
// has a key of its own, or that of its files.
type userKey [32]byte

func newUserKey() (k userKey) {
	_, _ = rand.Read(k[:]) // never fails
	return k
}

// hash returns a number for a user: 0 without an ID. That two of a million users have the same is as
// likely as one in thirty million.
func (k *userKey) hash(id string) uint64 {
	if id == "" {
		return 0
	}
	var space [128]byte
	sum := sha256.Sum256(append(append(space[:0], k[:]...), id...))
	return max(binary.LittleEndian.Uint64(sum[:]), 1)
}

// check returns a number that another key does not have.
func (k *userKey) check() uint64 {
	sum := sha256.Sum256(k[:])
	return binary.LittleEndian.Uint64(sum[:])
}
