package backups

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/onefold/onefold/cmd/internal/s3store"
	"github.com/onefold/onefold/warehouse"
)

// bucket holds backups under a prefix of an S3 bucket.
type bucket struct {
	*s3store.Bucket
	place string
}

const (
	listTime  = 5 * time.Minute // limit of a list, or of a request for one backup
	readAhead = 8 << 20         // bytes per read request
)

// String returns the URL of the bucket.
func (b *bucket) String() string { return b.place }

// Prepare implements Place. It returns an error if the bucket does not exist.
func (b *bucket) Prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	return b.Reachable(ctx)
}

// List implements Place.
func (b *bucket) List(ctx context.Context) (files []File, err error) {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	for name, err := range b.Bucket.List(ctx, "onefold-", "") {
		if err != nil {
			return nil, err
		}
		files, err = add(files, name, func() (int64, error) {
			o, err := b.Bucket.Open(ctx, name)
			if errors.Is(err, warehouse.ErrNotFound) {
				return 0, ErrNone
			}
			if err != nil {
				return 0, err
			}
			return o.Size(), o.Close()
		})
		if err != nil {
			return nil, err
		}
	}
	return sorted(files), nil
}

// Open implements Place.
func (b *bucket) Open(ctx context.Context, n Name) (io.ReadCloser, int64, error) {
	o, err := b.Bucket.Open(ctx, n.String())
	if errors.Is(err, warehouse.ErrNotFound) {
		return nil, 0, fmt.Errorf("%w: there is no backup %s in %s", ErrNone, n, b)
	}
	if err != nil {
		return nil, 0, err
	}
	return struct {
		io.Reader
		io.Closer
	}{bufio.NewReaderSize(io.NewSectionReader(o, 0, o.Size()), readAhead), o}, o.Size(), nil
}

// Write implements Place.
func (b *bucket) Write(ctx context.Context, n Name, write func(io.Writer) error) error {
	if r, _, err := b.Open(ctx, n); err == nil {
		return errors.Join(fmt.Errorf("%w: %s already exists in %s", ErrExists, n, b), r.Close())
	} else if !errors.Is(err, ErrNone) {
		return err
	}
	r, w := io.Pipe()
	uploaded := make(chan error, 1)
	go func() {
		err := b.Upload(ctx, n.String(), r)
		r.CloseWithError(err)
		uploaded <- err
	}()
	err := write(w)
	w.CloseWithError(err)
	if failed := <-uploaded; failed != nil { // the upload fails with the error of write, if that came first
		return failed
	}
	return err
}

// Delete implements Place.
func (b *bucket) Delete(ctx context.Context, n Name) error {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	return b.Bucket.Delete(ctx, n.String())
}
