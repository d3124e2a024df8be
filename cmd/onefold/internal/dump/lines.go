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

// MaxLine is how long a line may be, in bytes. An item of 400 KB comes to 2.4 MB with every byte escaped (\u0000), and to
// 3.1 MB as a list of {"BOOL":false}, 15 bytes for 2. Longer lines are made of blanks, or of numbers with a hundred zeros.
const MaxLine = 4 << 20

const maxWindow = 128 << 20 // of zstd, in bytes: the limit of the zstd program itself

// File is an open file of lines, decompressed as it is read. BytesRead may be called from any goroutine.
type File struct {
	Name  string
	Size  int64 // as it is stored; -1 if nobody knows
	read  atomic.Int64
	lines *bufio.Reader
	close []func() error
}

// OpenFile opens a file; "-" is stdin, which is not closed. Whether it is compressed with gzip or zstd is seen from its
// first bytes. also gets every byte as it is stored; it may be nil.
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

// BytesRead is how many bytes of the file, as it is stored, have been read so far.
func (f *File) BytesRead() int64 { return f.read.Load() }

// decompress puts the right decompressor in front.
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

// ErrUnreadable is returned when a file cannot be read to its end: it is cut off, damaged, or on a disk that is.
var ErrUnreadable = errors.New("import: a file cannot be read to its end")

// errTooLong is returned for a line of more than MaxLine bytes.
var errTooLong = fmt.Errorf("the line is longer than %d bytes, more than an item of 400 KB can need", MaxLine)

// next appends the next line, without its end, to dst. At the end it is io.EOF, with nothing. After errTooLong it goes on
// with the line after that.
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
