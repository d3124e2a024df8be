package logimport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/onefold/onefold/analytics/imported"
	"github.com/onefold/onefold/server/webanalytics"
)

const (
	askEvery   = 300 * time.Millisecond // interval of progress requests
	uploadFor  = time.Hour              // limit of an upload, as on the server
	keepAsking = 20                     // consecutive failures before giving up
)

// Counts lets the server import files of daily counts, or for a dry run report what it would
// import. It calls update, unless nil, with bytes: first of the upload, then of the server's
// reading. Importing the same files again changes nothing.
func (r *Remote) Counts(ctx context.Context, siteID string, files []string, dryRun bool, update func(done, size int64)) (*imported.Result, error) {
	if update == nil {
		update = func(int64, int64) {}
	}
	path := r.base + "/api/v1/sites/" + url.PathEscape(siteID) + "/imports"
	work, err := r.upload(ctx, path, files, dryRun, update)
	for failures := 0; err == nil; {
		if work.State == "done" && work.Result != nil {
			return (*imported.Result)(work.Result), nil
		}
		if work.State == "failed" {
			return nil, fmt.Errorf("%s: %s", work.Code, work.Problem)
		}
		if err = r.Wait(ctx, askEvery); err != nil {
			break
		}
		next, asked := r.work(ctx, path)
		switch failures++; {
		case asked == nil && (next == nil || next.ID != work.ID):
			return nil, errors.New("forgotten: the server was restarted or has started another import; import the same files again")
		case asked == nil:
			work, failures = next, 0
			update(work.Done, work.Of)
		case failures == keepAsking:
			return nil, asked
		}
	}
	return nil, err
}

// work returns the import that the server runs, or nil.
func (r *Remote) work(ctx context.Context, path string) (*webanalytics.ImportWork, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	var told struct{ Work *webanalytics.ImportWork }
	err = r.ask(r.client, request, http.StatusOK, &told)
	return told.Work, err
}

// upload sends the files while it reads them.
func (r *Remote) upload(ctx context.Context, path string, files []string, dryRun bool, update func(done, size int64)) (*webanalytics.ImportWork, error) {
	size, err := sizeOf(files)
	if err != nil {
		return nil, err
	}
	if dryRun {
		path += "?dryRun=true"
	}
	body, w := io.Pipe()
	written := make(chan struct{})
	defer func() {
		_ = body.Close() // closes the writer; it never returns an error
		<-written
	}()
	form := multipart.NewWriter(w)
	go func() {
		defer close(written)
		w.CloseWithError(writeForm(form, files, &sentBytes{size: size, update: update}))
	}()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, path, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", form.FormDataContentType())
	request.Header.Set("Expect", "100-continue") // so that a rejection arrives before the files are sent
	client := *r.client
	client.Timeout = uploadFor
	work := new(webanalytics.ImportWork)
	return work, r.ask(&client, request, http.StatusAccepted, work)
}

// ask sends a request with the key and decodes the response.
func (r *Remote) ask(client *http.Client, request *http.Request, want int, into any) error {
	request.Header.Set("Authorization", "Bearer "+r.key)
	answer, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("server: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return fmt.Errorf("server: %w", err)
	}
	if answer.StatusCode != want {
		return Refused(answer.StatusCode, text)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("server: invalid response: %w", err)
	}
	return nil
}

func sizeOf(files []string) (size int64, err error) {
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil {
			return 0, fmt.Errorf("no_such_file: %w", err)
		}
		size += info.Size()
	}
	return size, nil
}

// sentBytes counts and reports the bytes of an upload.
type sentBytes struct {
	done, size int64
	update     func(done, size int64)
}

// Write implements io.Writer.
func (s *sentBytes) Write(p []byte) (int, error) {
	s.done += int64(len(p))
	s.update(s.done, s.size)
	return len(p), nil
}

func writeForm(form *multipart.Writer, files []string, told io.Writer) error {
	for _, name := range files {
		part, err := form.CreateFormFile("files", filepath.Base(name))
		if err != nil {
			return err
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		_, err = io.Copy(part, io.TeeReader(f, told))
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return form.Close()
}
