// Package download sends files while they are generated. The response starts only when the first
// part is ready, so that an earlier error can still be reported as one. Each write has a deadline.
package download

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	patience = 30 * time.Second // deadline of each write
	buffer   = 32 << 10
)

// ErrStarted is wrapped by the error of a download that was partly sent. The connection must then
// be closed, so that the client does not take the part for the whole.
var ErrStarted = errors.New("download: broke off")

// Send sends the output of write as the response, within a time limit. header sets the response
// headers; it is called only if the first part is ready without an error. Errors: that of write,
// joined with ErrStarted if a part was sent.
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

// file buffers output, and delays the header until the buffer is full.
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

// allow extends the deadline of the next write. The time between two writes would count, too, and a
// deadline that has passed cannot be moved, so the deadline is far away except during a write.
func (f *file) allow(most time.Duration) error {
	if err := f.control.SetWriteDeadline(time.Now().Add(most)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("download: %w", err)
	}
	return nil
}
