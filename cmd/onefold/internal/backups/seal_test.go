package backups_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"filippo.io/age"

	"github.com/onefold/onefold/cmd/onefold/internal/backups"
)

// key creates a private key.
func key(t *testing.T) *age.X25519Identity {
	t.Helper()
	k, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func sealedFor(t *testing.T, text []byte, to ...age.Recipient) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := backups.Sealed(&b, to, func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func unsealed(sealed []byte, with ...age.Identity) ([]byte, error) {
	r, err := backups.Unseal(bytes.NewReader(sealed), with)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

func TestSeal(t *testing.T) {
	mine, other := key(t), key(t)
	text := bytes.Repeat([]byte("a backup, "), 20_000)
	for what, c := range map[string]struct {
		sealed []byte
		with   []age.Identity
		want   error
	}{
		"plain":         {text, nil, nil},
		"compressed":    {sealedFor(t, text), nil, nil},
		"encrypted":     {sealedFor(t, text, mine.Recipient()), []age.Identity{mine}, nil},
		"for two":       {sealedFor(t, text, other.Recipient(), mine.Recipient()), []age.Identity{mine}, nil},
		"for another":   {sealedFor(t, text, other.Recipient()), []age.Identity{mine}, backups.ErrIdentity},
		"no identity":   {sealedFor(t, text, mine.Recipient()), nil, backups.ErrEncrypted},
		"compressed, k": {sealedFor(t, text), []age.Identity{mine}, nil},
		"nothing":       {nil, nil, nil},
	} {
		got, err := unsealed(c.sealed, c.with...)
		if !errors.Is(err, c.want) || c.want == nil && len(c.sealed) > 0 && !bytes.Equal(got, text) {
			t.Errorf("%s: %d bytes, %v", what, len(got), err)
		}
	}
	if n := len(sealedFor(t, text)); n > len(text)/10 {
		t.Errorf("%d bytes are compressed to %d", len(text), n)
	}
}

// Streams with a flipped bit, and truncated streams, are never accepted.
func TestDamagedSeals(t *testing.T) {
	mine := key(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	text := make([]byte, 200_000)
	for i := range text {
		text[i] = byte(random.Uint32() % 16)
	}
	for what, c := range map[string]struct {
		sealed []byte
		magic  int // bytes without which the stream has another format
	}{"compressed": {sealedFor(t, text), 4}, "encrypted": {sealedFor(t, text, mine.Recipient()), 22}} {
		for range 200 {
			at := c.magic + random.IntN(len(c.sealed)-c.magic)
			flipped := bytes.Clone(c.sealed)
			flipped[at] ^= 1 << random.IntN(8)
			if got, err := unsealed(flipped, mine); err == nil && !bytes.Equal(got, text) || err != nil && !errors.Is(err, backups.ErrDamaged) && !errors.Is(err, backups.ErrIdentity) {
				t.Errorf("%s, a bit of byte %d: %v", what, at, err)
			}
			if _, err := unsealed(c.sealed[:at], mine); !errors.Is(err, backups.ErrDamaged) {
				t.Errorf("%s, cut to %d: %v", what, at, err)
			}
		}
	}
}

// A read error is returned as such, not as damage of the backup.
func TestUnreadableSeals(t *testing.T) {
	mine, broken := key(t), errors.New("broken")
	for _, sealed := range [][]byte{sealedFor(t, []byte("x")), sealedFor(t, []byte("x"), mine.Recipient())} {
		for n := range len(sealed) {
			r, err := backups.Unseal(io.MultiReader(bytes.NewReader(sealed[:n]), iotest.ErrReader(broken)), []age.Identity{mine})
			if err == nil {
				if _, err = io.Copy(io.Discard, r); !errors.Is(r.Err(), broken) {
					t.Errorf("%d bytes: %v", n, r.Err())
				}
				r.Close()
			}
			if !errors.Is(err, broken) || errors.Is(err, backups.ErrDamaged) {
				t.Errorf("%d bytes: %v", n, err)
			}
		}
	}
}

func TestKeys(t *testing.T) {
	mine, dir := key(t), t.TempDir()
	file := func(text string) string {
		name := filepath.Join(dir, "key")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	to := mine.Recipient().String()
	if all, err := backups.Recipients([]string{to}, file("# mine\n"+to+"\n")); err != nil || len(all) != 2 {
		t.Errorf("%d, %v", len(all), err)
	}
	if all, err := backups.Recipients(nil, ""); err != nil || len(all) != 0 {
		t.Errorf("none: %d, %v", len(all), err)
	}
	if all, err := backups.Identities(file("# mine\n" + mine.String() + "\n")); err != nil || len(all) != 1 {
		t.Errorf("%d, %v", len(all), err)
	}
	long := strings.Repeat("#\n", 1<<20)
	for _, bad := range []string{"", "ssh-rsa AAAA", long} {
		if _, err := backups.Recipients(nil, file(bad)); err == nil || !strings.HasPrefix(err.Error(), "bad_recipient: ") {
			t.Errorf("%.20q: %v", bad, err)
		}
		if _, err := backups.Identities(file(bad)); err == nil || !strings.HasPrefix(err.Error(), "bad_identity: ") {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
	if _, err := backups.Recipients([]string{"age1nobody"}, ""); err == nil || !strings.HasPrefix(err.Error(), "bad_recipient: ") {
		t.Error(err)
	}
	if _, err := backups.Identities(filepath.Join(dir, "none")); err == nil || !strings.HasPrefix(err.Error(), "bad_identity: ") {
		t.Error(err)
	}
}

// random returns incompressible bytes that depend on number.
func random(n, number int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(number)}).Read(b) // never fails
	return b
}
