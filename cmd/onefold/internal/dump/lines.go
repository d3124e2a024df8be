package dump

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// MaxLine is the maximum length of a line in bytes. An item of 400 KB takes 2.4 MB with every byte
// escaped (\u0000), and 3.1 MB as a list of {"BOOL":false}, 15 bytes for 2. Longer lines contain
// only padding, or numbers with a hundred zeros.
const MaxLine = 4 << 20

const maxWindow = 128 << 20 // of zstd, in bytes: the limit of the zstd program

// File is an open file of lines that is decompressed while it is read. BytesRead may be called from
// any goroutine.
type File struct {
	Name  string
	Size  int64 // of the stored file; -1 if unknown
	read  atomic.Int64
	lines *bufio.Reader
	close []func() error
}

// OpenFile opens a file; "-" is stdin, which is not closed. It detects gzip and zstd by the first
// bytes. also, which may be nil, receives every byte of the stored file.
func OpenFile(name string, stdin io.Reader, also io.Writer) (*File, error) {
	f := &File{Name: name, Size: -1}
	raw := stdin
	if name == "-" {
		f.Name = "standard input"
	} else {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		f.close = append(f.close, file.Close)
		info, err := file.Stat()
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if info.Mode().IsRegular() {
			f.Size = info.Size()
		}
		raw = file
	}
	raw = io.TeeReader(raw, counter{&f.read})
	if also != nil {
		raw = io.TeeReader(raw, also)
	}
	return f, f.decompress(bufio.NewReaderSize(raw, 64<<10))
}

type counter struct{ n *atomic.Int64 }

func (c counter) Write(b []byte) (int, error) {
	c.n.Add(int64(len(b)))
	return len(b), nil
}

// BytesRead returns the number of bytes of the stored file read so far.
func (f *File) BytesRead() int64 { return f.read.Load() }

// decompress inserts the decompressor for the detected format.
func (f *File) decompress(raw *bufio.Reader) error {
	const lineBuffer = 256 << 10
	magic, err := raw.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return errors.Join(fmt.Errorf("read %s: %w", f.Name, err), f.Close())
	}
	text := io.Reader(raw)
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		text, err = gzip.NewReader(raw)
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		var z *zstd.Decoder
		if z, err = zstd.NewReader(raw, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow)); err == nil {
			f.close = append(f.close, func() error { z.Close(); return nil })
			text = z
		}
	default:
		err = nil
	}
	if err != nil {
		return errors.Join(fmt.Errorf("read %s: %w", f.Name, err), f.Close())
	}
	f.lines = bufio.NewReaderSize(text, lineBuffer)
	return nil
}

// ErrUnreadable is returned if a file cannot be read to its end, because it is truncated or
// damaged, or because of a read error.
var ErrUnreadable = errors.New("import: a file cannot be read to its end")

// errTooLong is returned for a line of more than MaxLine bytes.
var errTooLong = fmt.Errorf("the line is longer than %d bytes, more than an item of 400 KB can need", MaxLine)

// next appends the next line, without its end, to dst. At the end it returns io.EOF. After
// errTooLong, the next call returns the following line.
func (f *File) next(dst []byte) ([]byte, error) {
	long := false
	for {
		part, err := f.lines.ReadSlice('\n')
		if long = long || len(dst)+len(part) > MaxLine; !long {
			dst = append(dst, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return nil, fmt.Errorf("%w: read %s: %w", ErrUnreadable, f.Name, err)
		case long:
			return dst[:0], errTooLong
		case err != nil && len(dst) == 0:
			return nil, io.EOF
		}
		return bytes.TrimRight(dst, "\r\n"), nil
	}
}

// Close closes the file.
func (f *File) Close() error {
	var errs []error
	for i := len(f.close) - 1; i >= 0; i-- {
		errs = append(errs, f.close[i]())
	}
	f.close = nil
	return errors.Join(errs...)
}
