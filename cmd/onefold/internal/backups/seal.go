package backups

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"github.com/onefold/onefold/cmd/onefold/internal/wholebackup"
)

var (
	// ErrDamaged is returned for a backup that cannot be decrypted or decompressed to its end.
	ErrDamaged = wholebackup.ErrForeign
	// ErrEncrypted is returned if an encrypted backup is read without an identity.
	ErrEncrypted = errors.New("encrypted")
	// ErrIdentity is returned if none of the identities decrypts the backup.
	ErrIdentity = errors.New("wrong_identity")
)

// Limits of input.
const (
	maxWindow = 128 << 20 // of a compressed stream, in memory
	maxKeys   = 1 << 20   // size of a file of recipients or identities, in bytes
)

// Seal returns a writer that compresses, and encrypts if there are recipients. The stream is
// complete after Close.
func Seal(w io.Writer, recipients []age.Recipient) (io.WriteCloser, error) {
	below := io.WriteCloser(open{w})
	if len(recipients) > 0 {
		var err error
		if below, err = age.Encrypt(w, recipients...); err != nil {
			return nil, fmt.Errorf("encrypt: %w", err)
		}
	}
	z, err := zstd.NewWriter(below, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return &sealed{z, below}, nil
}

// open is a writer without a Close of its own.
type open struct{ io.Writer }

func (open) Close() error { return nil }

type sealed struct {
	*zstd.Encoder
	below io.Closer
}

// Close ends the stream. It does not close the underlying writer.
func (s *sealed) Close() error { return errors.Join(s.Encoder.Close(), s.below.Close()) }

// First bytes of encrypted and compressed streams.
var (
	ageMagic  = []byte("age-encryption.org/v1\n")
	zstdMagic = []byte("\x28\xb5\x2f\xfd")
)

// Reader decrypts and decompresses a sealed stream. It passes a plain stream through.
type Reader struct {
	in   io.Reader
	from *source
	zstd *zstd.Decoder

	room        Room
	bytes, look int64 // bytes read, and the count at which to check the free space again
}

// Unseal opens a stream. Errors: ErrEncrypted, ErrIdentity, ErrDamaged. The caller closes the
// reader.
func Unseal(r io.Reader, identities []age.Identity) (*Reader, error) {
	from := &source{r: r}
	in := bufio.NewReader(from)
	if first, _ := in.Peek(len(ageMagic)); bytes.Equal(first, ageMagic) { // a shorter stream is not a backup, which the reader of the backup detects
		plain, err := decrypt(in, identities)
		if err != nil {
			return nil, from.or(err)
		}
		in = bufio.NewReader(plain)
	}
	out := &Reader{in: in, from: from}
	if first, _ := in.Peek(len(zstdMagic)); bytes.Equal(first, zstdMagic) {
		var err error
		if out.zstd, err = zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow)); err != nil {
			return nil, from.or(fmt.Errorf("%w: %w", ErrDamaged, err))
		}
		out.in = out.zstd
	}
	return out, nil
}

func decrypt(in io.Reader, identities []age.Identity) (io.Reader, error) {
	if len(identities) == 0 {
		return nil, fmt.Errorf("%w: give --identity FILE, the private key of one of its recipients", ErrEncrypted)
	}
	plain, err := age.Decrypt(in, identities...)
	var none *age.NoIdentityMatchError
	switch {
	case errors.As(err, &none):
		return nil, fmt.Errorf("%w: no key in --identity belongs to a recipient of the backup", ErrIdentity)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return plain, nil
}

// Spare keeps a reserve free on the disk that is restored to: Read returns ErrFull before the
// restored data would use it.
func (r *Reader) Spare(room Room) { r.room = room }

// Read implements io.Reader. Errors: those of the underlying stream, ErrFull, ErrDamaged.
func (r *Reader) Read(b []byte) (int, error) {
	if r.bytes >= r.look {
		if err := r.room.For(lookEvery); err != nil {
			r.from.err = err
			return 0, err
		}
		r.look = r.bytes + lookEvery
	}
	n, err := r.in.Read(b)
	r.bytes += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		err = r.from.or(fmt.Errorf("%w: %w", ErrDamaged, err))
	}
	return n, err
}

// Err returns ErrFull or the error of the underlying stream, if there was one. Such an error says
// nothing about the backup itself.
func (r *Reader) Err() error { return r.from.err }

// Close frees memory. It does not close the underlying stream.
func (r *Reader) Close() {
	if r.zstd != nil {
		r.zstd.Close()
	}
}

// source remembers the error of the underlying stream.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// or returns the error of the underlying stream, or err if there was none.
func (s *source) or(err error) error {
	if s.err != nil {
		return s.err
	}
	return err
}

// Recipients parses the given recipients, and those in a file, one per line. file may be empty.
// Errors begin with bad_recipient.
func Recipients(given []string, file string) (all []age.Recipient, err error) {
	for _, text := range given {
		some, err := age.ParseRecipients(strings.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("bad_recipient: %q is not an age public key such as age1…: %w", text, err)
		}
		all = append(all, some...)
	}
	if file == "" {
		return all, nil
	}
	text, err := keys(file)
	if err != nil {
		return nil, fmt.Errorf("bad_recipient: %w", err)
	}
	some, err := age.ParseRecipients(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("bad_recipient: %s: %w", file, err)
	}
	return append(all, some...), nil
}

// Identities reads private keys from a file. It returns none if file is empty. Errors begin with
// bad_identity.
func Identities(file string) ([]age.Identity, error) {
	if file == "" {
		return nil, nil
	}
	text, err := keys(file)
	if err != nil {
		return nil, fmt.Errorf("bad_identity: %w", err)
	}
	all, err := age.ParseIdentities(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("bad_identity: %s contains no private keys in the format of age-keygen: %w", file, err)
	}
	return all, nil
}

func keys(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKeys+1))
	if err == nil && len(text) > maxKeys {
		err = fmt.Errorf("%s has more than %d bytes", file, maxKeys)
	}
	return text, errors.Join(err, f.Close())
}
