package s3store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// Limits of an upload. All parts have the same size, as some services require.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html
const (
	partBytes = 32 << 20
	maxParts  = 10_000
)

// requestTime limits a request of an upload, or for a range of an object, so that an unresponsive
// service blocks nobody forever.
const requestTime = 5 * time.Minute

// abortTime limits the removal of parts, which delays the shutdown of a process.
const abortTime = 10 * time.Second

// ErrTooLarge is returned for a stream that does not fit into one object.
var ErrTooLarge = fmt.Errorf("too_large: an object has at most %d parts of %d MB", maxParts, partBytes>>20)

// Upload stores an object of any size while it reads r. The object exists when all of r is stored;
// after an error neither it nor parts of it remain. An existing object is replaced. Upload holds 32
// MB in memory.
func (b *Bucket) Upload(ctx context.Context, name string, r io.Reader) error {
	u := &upload{b: b, name: name, size: partBytes}
	if b.part > 0 {
		u.size = b.part
	}
	return u.run(ctx, r)
}

// upload is a running upload.
type upload struct {
	b    *Bucket
	name string
	size int
	id   *string
	done []types.CompletedPart
}

func (u *upload) run(ctx context.Context, r io.Reader) (err error) {
	buf := make([]byte, u.size)
	n, err := io.ReadFull(r, buf)
	// The whole stream fits into one part: a plain put saves two requests, and is atomic.
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return u.b.bounded(ctx, func(ctx context.Context) error { return u.b.Put(ctx, u.name, bytes.NewReader(buf[:n])) })
	}
	if err != nil {
		return err
	}
	if err := u.begin(ctx); err != nil {
		return err
	}
	// Parts of an incomplete upload are invisible, but are billed until they are removed.
	defer func() {
		if err != nil {
			err = errors.Join(err, u.abort(ctx))
		}
	}()
	for n > 0 {
		if err := u.part(ctx, buf[:n]); err != nil {
			return err
		}
		n, err = io.ReadFull(r, buf)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
	}
	return u.complete(ctx)
}

func (u *upload) begin(ctx context.Context) error {
	in := &s3.CreateMultipartUploadInput{Bucket: &u.b.bucket, Key: u.b.key(u.name)}
	if u.b.endpoint == "" {
		in.ChecksumAlgorithm = types.ChecksumAlgorithmCrc32 // the checksum that the client uses for parts
	}
	return u.b.bounded(ctx, func(ctx context.Context) error {
		out, err := u.b.client.CreateMultipartUpload(ctx, in)
		if err == nil {
			u.id = out.UploadId
		}
		return u.b.failed("put", u.name, err)
	})
}

func (u *upload) part(ctx context.Context, body []byte) error {
	if len(u.done) == maxParts {
		return fmt.Errorf("bucket %s: put %s: %w", u.b.bucket, u.name, ErrTooLarge)
	}
	number := aws.Int32(int32(len(u.done) + 1))
	return u.b.bounded(ctx, func(ctx context.Context) error {
		out, err := u.b.client.UploadPart(ctx, &s3.UploadPartInput{
			Bucket: &u.b.bucket, Key: u.b.key(u.name), UploadId: u.id, PartNumber: number, Body: bytes.NewReader(body),
		})
		if err == nil {
			u.done = append(u.done, types.CompletedPart{PartNumber: number, ETag: out.ETag, ChecksumCRC32: out.ChecksumCRC32})
		}
		return u.b.failed("put", u.name, err)
	})
}

func (u *upload) complete(ctx context.Context) error {
	return u.b.bounded(ctx, func(ctx context.Context) error {
		_, err := u.b.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
			Bucket: &u.b.bucket, Key: u.b.key(u.name), UploadId: u.id, MultipartUpload: &types.CompletedMultipartUpload{Parts: u.done},
		})
		return u.b.failed("put", u.name, err)
	})
}

// abort removes the parts, even after ctx has ended.
func (u *upload) abort(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTime)
	defer cancel()
	_, err := u.b.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &u.b.bucket, Key: u.b.key(u.name), UploadId: u.id})
	if codeOf(err) == "NoSuchUpload" {
		return nil
	}
	return u.b.failed("abort the upload of", u.name, err)
}

// bounded runs a request with a limit of requestTime.
func (b *Bucket) bounded(ctx context.Context, request func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	return request(ctx)
}
