package accounts

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
)

// Cost is the cost of an argon2id hash. The zero value is the default, OWASP's first recommendation
// for argon2id with little parallelism: 46 MiB, one pass.
// https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html
type Cost struct {
	KiB    uint32 // memory; default 47,104
	Passes uint32 // default 1
}

const (
	saltBytes   = 16
	hashBytes   = 32
	hashThreads = 1

	minPassword = 10  // characters
	maxPassword = 256 // bytes; longer passwords would only cost us time

	maxCostKiB, maxCostPasses = 1 << 20, 16 // limits for stored hashes: never compute a hash with a cost that we do not write
)

func (c Cost) orDefault() Cost {
	if c.KiB == 0 {
		c.KiB = 46 << 10
	}
	if c.Passes == 0 {
		c.Passes = 1
	}
	return c
}

// hasher hashes passwords, a few at a time: each hash takes memory, and anyone can attempt a login.
type hasher struct {
	cost  Cost
	slots chan struct{}
	none  string // a hash that no password has, for accounts that do not exist
}

func newHasher(cost Cost, atOnce int) *hasher {
	h := &hasher{cost: cost.orDefault(), slots: make(chan struct{}, atOnce)}
	h.none = h.encode(make([]byte, saltBytes), make([]byte, hashBytes))
	return h
}

// hash returns a password's hash in the PHC string format, with a random salt.
func (h *hasher) hash(ctx context.Context, password string) (string, error) {
	if err := h.enter(ctx); err != nil {
		return "", err
	}
	defer h.leave()
	salt := make([]byte, saltBytes)
	rand.Read(salt) // never fails
	return h.encode(salt, argon2.IDKey([]byte(password), salt, h.cost.Passes, h.cost.KiB, hashThreads, hashBytes)), nil
}

func (h *hasher) encode(salt, sum []byte) string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, h.cost.KiB, h.cost.Passes, hashThreads,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(sum))
}

// check reports whether a password has a hash. An empty hash takes as long as any other and never
// matches.
func (h *hasher) check(ctx context.Context, password, stored string) (bool, error) {
	known := stored != ""
	if !known {
		stored = h.none
	}
	cost, salt, want, err := parseHash(stored)
	if err != nil {
		return false, err
	}
	if len(password) > maxPassword {
		password, known = password[:maxPassword], false
	}
	if err := h.enter(ctx); err != nil {
		return false, err
	}
	defer h.leave()
	got := argon2.IDKey([]byte(password), salt, cost.Passes, cost.KiB, hashThreads, uint32(len(want)))
	return subtle.ConstantTimeCompare(got, want) == 1 && known, nil
}

// parseHash parses the PHC string format as encode writes it. The cost is read from the hash, so
// that the default can rise.
func parseHash(stored string) (cost Cost, salt, sum []byte, err error) {
	bad := errors.New("accounts: a stored password hash is damaged")
	parts := strings.Split(stored, "$")
	if len(parts) != 6 || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return cost, nil, nil, bad
	}
	var threads int
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &cost.KiB, &cost.Passes, &threads); err != nil ||
		threads != hashThreads || cost.KiB == 0 || cost.KiB > maxCostKiB || cost.Passes == 0 || cost.Passes > maxCostPasses {
		return cost, nil, nil, bad
	}
	if salt, err = base64.RawStdEncoding.DecodeString(parts[4]); err != nil {
		return cost, nil, nil, bad
	}
	if sum, err = base64.RawStdEncoding.DecodeString(parts[5]); err != nil || len(sum) != hashBytes {
		return cost, nil, nil, bad
	}
	return cost, salt, sum, nil
}

func (h *hasher) enter(ctx context.Context) error {
	select {
	case h.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *hasher) leave() { <-h.slots }

// checkPassword rejects passwords that are too easy to guess or too long. There are no rules about
// their characters.
func checkPassword(password, email string) error {
	switch {
	case utf8.RuneCountInString(password) < minPassword:
		return fmt.Errorf("%w: a password must have at least %d characters", ErrInvalid, minPassword)
	case len(password) > maxPassword:
		return fmt.Errorf("%w: a password may have at most %d bytes", ErrInvalid, maxPassword)
	case strings.EqualFold(password, email):
		return fmt.Errorf("%w: the password must not be the email address", ErrInvalid)
	}
	return nil
}
