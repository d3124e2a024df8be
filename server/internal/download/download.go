// Package download sends files that are made while they are sent: nothing is told before it has to be, so that an error can
// still be answered as one, and a reader has a while to take each part. Packages of routes use it.
package download

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	patience = 30 * time.Second // for a reader to take what was written
	buffer   = 32 << 10
)

// ErrStarted is wrapped by the error of a file of which a part was sent: the connection is to be closed, so that nobody takes
// it for the whole.
var ErrStarted = errors.New("download: broke off")

// Send answers with what write writes, within a time at most. header sets the headers of the file when there is no error
// before its first part. Errors: that of write, and ErrStarted with it when a part was sent.
func Send(w http.ResponseWriter, within time.Duration, header func(http.Header), write func(io.Writer) error) error {
	f := &file{w: w, control: http.NewResponseController(w), within: within, header: header}
	err := f.allow(within)
	if err == nil {
		err = write(f)
	}
	if err == nil {
		err = f.flush()
	}
	if err != nil && f.started {
		err = errors.Join(ErrStarted, err)
	}
	return err
}

// file buffers what is written, and sends no header before it has to.
type file struct {
	w       http.ResponseWriter
	control *http.ResponseController
	within  time.Duration
	header  func(http.Header)
	started bool
	buffer  []byte
}

// Write implements io.Writer.
func (f *file) Write(p []byte) (int, error) {
	f.buffer = append(f.buffer, p...)
	if len(f.buffer) < buffer {
		return len(p), nil
	}
	return len(p), f.flush()
}

func (f *file) flush() error {
	if !f.started {
		f.started = true
		f.header(f.w.Header())
		f.w.WriteHeader(http.StatusOK)
	}
	if err := f.allow(patience); err != nil {
		return err
	}
	_, err := f.w.Write(f.buffer)
	f.buffer = f.buffer[:0]
	return errors.Join(err, f.allow(f.within))
}

// allow lets the next write take a while. What is computed between two writes counts, too, and a deadline that has passed
// cannot be moved; so it is far away but while something is written.
func (f *file) allow(most time.Duration) error {
	if err := f.control.SetWriteDeadline(time.Now().Add(most)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("download: %w", err)
	}
	return nil
}
