package accesslog

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

// maxWindow limits the memory that a zstd file may ask for: 128 MiB, the limit of the zstd program
// itself.
const maxWindow = 128 << 20

// File is an open log, decompressed as it is read. Read and Close belong to one goroutine; BytesRead and Size may be
// called from any.
type File struct {
	name  string
	size  int64
	count *countingReader
	text  *bufio.Reader // decompressed
	close []func() error
}

// Open opens a log. The path "-" stands for stdin, which is not closed. Compression with gzip (one
// or more members) or zstd is detected from the first bytes, not from the name.
func Open(path string, stdin io.Reader) (*File, error) {
	f := &File{name: path, size: -1}
	if path == "-" {
		f.name = "standard input"
		f.count = &countingReader{r: stdin}
		return f.detect()
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("accesslog: open: %w", err)
	}
	f.close = append(f.close, file.Close)
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("accesslog: open: %w", err), f.Close())
	}
	switch {
	case info.IsDir():
		return nil, errors.Join(fmt.Errorf("accesslog: open %s: it is a directory; name the log file inside it", path), f.Close())
	case info.Mode().IsRegular():
		f.size = info.Size()
	}
	f.count = &countingReader{r: file}
	return f.detect()
}

// detect inspects the first bytes and sets up the right decompressor.
func (f *File) detect() (*File, error) {
	buffered := bufio.NewReaderSize(f.count, HeadBytes)
	magic, err := buffered.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(fmt.Errorf("accesslog: read %s: %w", f.name, err), f.Close())
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		text, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("accesslog: read %s as gzip: %w", f.name, err), f.Close())
		}
		f.text = bufio.NewReaderSize(text, HeadBytes)
		f.close = append(f.close, text.Close)
	case isZstd(magic):
		text, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("accesslog: read %s as zstd: %w", f.name, err), f.Close())
		}
		f.text = bufio.NewReaderSize(text, HeadBytes)
		f.close = append(f.close, func() error { text.Close(); return nil })
	default:
		f.text = buffered
	}
	return f, nil
}

// isZstd reports whether b starts a zstd frame, or a skippable one (RFC 8878, section 3.1).
func isZstd(b []byte) bool {
	frame := bytes.Equal(b, []byte{0x28, 0xb5, 0x2f, 0xfd})
	return frame || len(b) == 4 && b[0]&0xf0 == 0x50 && b[1] == 0x2a && b[2] == 0x4d && b[3] == 0x18
}

// Head returns the beginning of the log's text: at least a line, or everything if there is none,
// and at most HeadBytes. Read returns these bytes again. For a truncated file, Head returns what
// there is.
func (f *File) Head() ([]byte, error) {
	for {
		head, err := f.text.Peek(min(f.text.Buffered()+1, HeadBytes))
		if len(head) < f.text.Buffered() {
			head, _ = f.text.Peek(f.text.Buffered()) // what is buffered
		}
		switch {
		case len(head) == 0 && err != nil && !errors.Is(err, io.EOF):
			return nil, fmt.Errorf("accesslog: read %s: %w", f.name, err)
		case err != nil, len(head) == HeadBytes, bytes.IndexByte(head, '\n') >= 0:
			return head, nil
		}
	}
}

// Read reads the log's text. A truncated file ends with an error that wraps io.ErrUnexpectedEOF,
// after the text that it has.
func (f *File) Read(b []byte) (int, error) {
	n, err := f.text.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("accesslog: read %s: %w", f.name, err)
	}
	return n, err
}

// BytesRead returns how many bytes of the stored file have been read so far.
func (f *File) BytesRead() int64 { return f.count.n.Load() }

// Size returns the length of the stored file in bytes when it was opened, or -1 if it is unknown (a
// pipe).
func (f *File) Size() int64 { return f.size }

// Close closes the file.
func (f *File) Close() error {
	var errs []error
	for i := len(f.close) - 1; i >= 0; i-- {
		errs = append(errs, f.close[i]())
	}
	f.close = nil
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("accesslog: close %s: %w", f.name, err)
	}
	return nil
}

type countingReader struct {
	r io.Reader
	n atomic.Int64
}

func (c *countingReader) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n.Add(int64(n))
	return n, err
}
