package webanalytics

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/server/jobs"
)

// Limits of an upload.
const (
	maxUpload      = 2 << 30 // total size of all files in bytes
	maxUploadFiles = 500     // the same limit as in package exports
	uploadTimeout  = time.Hour
	uploadPatience = 30 * time.Second // how long the client may pause
	uploadAnswer   = 30 * time.Second // how long the client may take to read the response
)

// addImport receives files and starts to import them.
func (s *Service) addImport(ctx context.Context, in *uploadRequest) (*importAnswer, error) {
	if _, err := analytics.GetSite(ctx, s.table, in.Site); err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	parts, err := in.raw.MultipartReader()
	if err != nil {
		return nil, middleware.Problem(http.StatusUnsupportedMediaType, "unsupported_media_type", "Send the files as multipart/form-data.")
	}
	began := ImportWork{ID: rand.Text(), State: workUploading, At: s.mw.Clock().UTC(), DryRun: in.DryRun}
	job, err := s.imported.Begin(ctx, began.ID, in.Site, began)
	if errors.Is(err, jobs.ErrBusy) {
		return nil, middleware.Problem(http.StatusConflict, "busy", "An import of this site is running, or several of other sites. Try again when it has ended.")
	}
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	files, err := s.receive(in, parts)
	if err != nil {
		return nil, s.mw.Error(ctx, errors.Join(err, job.Drop(context.WithoutCancel(ctx))))
	}
	job.Change(func(w *ImportWork) { w.State = workWaiting })
	actor := middleware.CallerOf(ctx).Actor
	if !s.background.Start(func(ctx context.Context) { s.runImport(ctx, in.Site, job, files, actor) }) {
		return nil, s.mw.Error(ctx, errors.Join(middleware.ShuttingDown(), files.remove(), job.Drop(ctx)))
	}
	return &importAnswer{job.State()}, nil
}

// upload is a set of received files in a folder of their own.
type upload struct {
	folder string
	names  []string
}

func (u *upload) remove() error { return os.RemoveAll(u.folder) }

// receive writes the files of a request to disk. Each gets a folder of its own, so that it can keep
// its name.
func (s *Service) receive(in *uploadRequest, parts *multipart.Reader) (_ *upload, err error) {
	if s.o.Uploads != "" {
		if err := os.MkdirAll(s.o.Uploads, 0o700); err != nil {
			return nil, err
		}
	}
	u := new(upload)
	if u.folder, err = os.MkdirTemp(s.o.Uploads, "onefold-upload-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, u.remove())
		}
	}()
	from := &sender{control: http.NewResponseController(in.w), left: maxUpload, until: time.Now().Add(uploadTimeout)}
	for {
		part, err := parts.NextPart()
		if err == io.EOF { // not wrapped, as it would be in the middle of a part
			break
		}
		if err != nil {
			return nil, uploadProblem(err)
		}
		if part.FileName() == "" {
			continue
		}
		if err := u.add(part, from); from.err != nil {
			return nil, uploadProblem(from.err)
		} else if err != nil {
			return nil, err
		}
	}
	if len(u.names) == 0 {
		return nil, middleware.Problem(http.StatusUnprocessableEntity, "invalid_request", "The request has no files.")
	}
	return u, from.allow(uploadAnswer)
}

// add writes one file to disk.
func (u *upload) add(part *multipart.Part, from *sender) (err error) {
	if len(u.names) == maxUploadFiles {
		return middleware.Problem(http.StatusRequestEntityTooLarge, "too_much", fmt.Sprintf("At most %d files per upload.", maxUploadFiles))
	}
	folder := filepath.Join(u.folder, strconv.Itoa(len(u.names)))
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	name := filepath.Join(folder, safeName(part.FileName()))
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	u.names = append(u.names, name)
	from.r = part
	_, err = io.Copy(f, from)
	return err
}

// safeName turns an uploaded file's name into a safe file name.
func safeName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, name)
	const most = 120 // bytes; file systems allow 255
	for len(name) > most {
		name = strings.ToValidUTF8(name[len(name)-most:], "") // keep the end, which has the extension
	}
	if strings.Trim(name, ".") == "" {
		return "file"
	}
	return name
}

// errUploadTooLarge is returned when the files of a request exceed the size limit together.
var errUploadTooLarge = errors.New("the files are too large")

// sender reads from a client with a deadline for each read.
type sender struct {
	r       io.Reader
	control *http.ResponseController
	left    int64 // bytes
	until   time.Time
	err     error // the error that ended the upload
}

// Read implements io.Reader.
func (s *sender) Read(p []byte) (int, error) {
	if s.err = s.allow(uploadPatience); s.err != nil {
		return 0, s.err
	}
	n, err := s.r.Read(p)
	if s.left -= int64(n); s.left < 0 {
		err = errUploadTooLarge
	}
	if err != io.EOF {
		s.err = err
	}
	return n, err
}

// allow extends the deadlines for the client to send, and then to read the response.
func (s *sender) allow(patience time.Duration) error {
	now := time.Now()
	if now.After(s.until) {
		return context.DeadlineExceeded
	}
	err := errors.Join(s.control.SetReadDeadline(now.Add(patience)), s.control.SetWriteDeadline(now.Add(patience+uploadAnswer)))
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// uploadProblem returns the response to a failed upload.
func uploadProblem(err error) error {
	switch {
	case errors.Is(err, errUploadTooLarge):
		return middleware.Problem(http.StatusRequestEntityTooLarge, "body_too_large", fmt.Sprintf("At most %d MiB per upload. For more, run `onefold import` on the server.", maxUpload>>20))
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return middleware.Problem(http.StatusRequestTimeout, "timeout", "The upload was too slow. Send the files again.")
	}
	return middleware.Problem(http.StatusBadRequest, "bad_request", "The request is not multipart/form-data, or ends within a file. Send it again.")
}
