// Package s3store stores a warehouse or backups in S3, or in any storage with the same API. A
// warehouse needs conditional puts. The package creates the SDK's client.
package s3store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"github.com/onefold/onefold/warehouse"
)

// Forms describes valid locations for messages and help texts.
const Forms = "s3://BUCKET/PREFIX?region=REGION&profile=PROFILE&endpoint=http://HOST:PORT"

// Bucket stores objects under a prefix of a bucket.
type Bucket struct {
	client   *s3.Client
	endpoint string // of a server other than AWS
	bucket   string
	prefix   string // empty, or ends with a slash
	page     int32  // names per list request; 0: the service's 1,000
	part     int    // bytes per part of an upload; 0: partBytes
}

// Open creates the client, with the credentials that the AWS tools would use. A server other than
// AWS gets credentials of the environment, or dummy ones. Nothing is sent yet. what is the purpose,
// such as "warehouse": errors about the location begin with bad_ and that word, others with
// bad_credentials or bad_region.
func Open(ctx context.Context, what, place string) (*Bucket, error) {
	u, err := url.Parse(place)
	if err != nil || u.Scheme != "s3" || u.Host == "" || u.User != nil || u.Fragment != "" {
		return nil, fmt.Errorf("bad_%s: %q is not %s", what, place, Forms)
	}
	q := u.Query()
	for name := range q {
		if name != "region" && name != "profile" && name != "endpoint" {
			return nil, fmt.Errorf("bad_%s: %q: unknown parameter %s; use region, profile and endpoint", what, place, name)
		}
	}
	cfg, err := load(ctx, what, q)
	if err != nil {
		return nil, err
	}
	b := &Bucket{endpoint: q.Get("endpoint"), bucket: u.Host, prefix: strings.Trim(u.Path, "/")}
	if b.prefix != "" {
		b.prefix += "/"
	}
	b.client = s3.NewFromConfig(cfg, func(o *s3.Options) {
		if endpoint := q.Get("endpoint"); endpoint != "" {
			o.BaseEndpoint, o.UsePathStyle = &endpoint, true
			o.RequestChecksumCalculation, o.ResponseChecksumValidation = aws.RequestChecksumCalculationWhenRequired, aws.ResponseChecksumValidationWhenRequired
		}
	})
	return b, nil
}

// defaultRegion is the Region for servers other than AWS, which have none.
const defaultRegion = "us-east-1"

func load(ctx context.Context, what string, q url.Values) (aws.Config, error) {
	var settings []func(*config.LoadOptions) error
	if region := q.Get("region"); region != "" {
		settings = append(settings, config.WithRegion(region))
	}
	if profile := q.Get("profile"); profile != "" {
		settings = append(settings, config.WithSharedConfigProfile(profile))
	}
	own := q.Get("endpoint") != ""
	if own && q.Get("profile") == "" && os.Getenv("AWS_PROFILE") == "" && os.Getenv("AWS_ACCESS_KEY_ID") == "" {
		settings = append(settings, config.WithCredentialsProvider(aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "any", SecretAccessKey: "any"}, nil
		})))
	}
	cfg, err := config.LoadDefaultConfig(ctx, settings...)
	if err != nil {
		return cfg, fmt.Errorf("bad_credentials: %w", err)
	}
	if cfg.Region == "" && own {
		cfg.Region = defaultRegion
	}
	if cfg.Region == "" {
		return cfg, fmt.Errorf("bad_region: no Region is set for the %s: add ?region=REGION, or set AWS_REGION", what)
	}
	return cfg, nil
}

func (b *Bucket) key(name string) *string { return aws.String(b.prefix + name) }

// Put stores an object.
func (b *Bucket) Put(ctx context.Context, name string, body io.ReadSeeker) error {
	_, err := b.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &b.bucket, Key: b.key(name), Body: body})
	return b.failed("put", name, err)
}

// PutIfAbsent stores an object if none exists. If another client does the same concurrently, the
// service may report a conflict without a winner; that is returned as an ordinary error.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html
func (b *Bucket) PutIfAbsent(ctx context.Context, name string, body []byte) error {
	_, err := b.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &b.bucket, Key: b.key(name), Body: bytes.NewReader(body), IfNoneMatch: aws.String("*"),
	})
	if codeOf(err) == "PreconditionFailed" {
		return fmt.Errorf("%w: %s", warehouse.ErrExists, name)
	}
	return b.failed("put", name, err)
}

// Open returns an object with its size. Its contents are requested when they are read.
func (b *Bucket) Open(ctx context.Context, name string) (warehouse.Object, error) {
	var out *s3.HeadObjectOutput
	err := b.bounded(ctx, func(ctx context.Context) (err error) {
		out, err = b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.bucket, Key: b.key(name)})
		return err
	})
	if missing(err) {
		return nil, fmt.Errorf("%w: %s", warehouse.ErrNotFound, name)
	}
	if err != nil {
		return nil, b.failed("open", name, err)
	}
	return &object{b: b, ctx: ctx, name: name, size: aws.ToInt64(out.ContentLength)}, nil
}

// List lists names, page by page.
func (b *Bucket) List(ctx context.Context, prefix, after string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		in := &s3.ListObjectsV2Input{Bucket: &b.bucket, Prefix: b.key(prefix)}
		if after != "" {
			in.StartAfter = b.key(after)
		}
		if b.page > 0 {
			in.MaxKeys = &b.page
		}
		for pages := s3.NewListObjectsV2Paginator(b.client, in); pages.HasMorePages(); {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield("", b.failed("list", prefix, err))
				return
			}
			for _, o := range page.Contents {
				name := strings.TrimPrefix(aws.ToString(o.Key), b.prefix)
				if name > after && !yield(name, nil) {
					return
				}
			}
		}
	}
}

// maxDelete is the maximum number of objects in a delete request.
const maxDelete = 1000

// Delete deletes objects.
func (b *Bucket) Delete(ctx context.Context, names ...string) error {
	for len(names) > 0 {
		n := min(len(names), maxDelete)
		objects := make([]types.ObjectIdentifier, n)
		for i, name := range names[:n] {
			objects[i].Key = b.key(name)
		}
		out, err := b.client.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: &b.bucket, Delete: &types.Delete{Objects: objects, Quiet: aws.Bool(true)}})
		if err != nil {
			return b.failed("delete", names[0], err)
		}
		for _, e := range out.Errors {
			if aws.ToString(e.Code) != "NoSuchKey" {
				return fmt.Errorf("delete %s: %s: %s", aws.ToString(e.Key), aws.ToString(e.Code), aws.ToString(e.Message))
			}
		}
		names = names[n:]
	}
	return nil
}

func codeOf(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

func missing(err error) bool {
	code := codeOf(err)
	return code == "NotFound" || code == "NoSuchKey"
}

// failed adds the operation to an error, and advice to common errors.
func (b *Bucket) failed(do, name string, err error) error {
	switch codeOf(err) {
	case "":
		if err == nil {
			return nil
		}
		if dial := (*net.OpError)(nil); errors.As(err, &dial) && dial.Op == "dial" && b.endpoint != "" {
			return fmt.Errorf("no_server: no response from %s: %w", b.endpoint, dial)
		}
		return fmt.Errorf("no_server: bucket %s: %s %s: %w", b.bucket, do, name, err)
	case "NoSuchBucket":
		return fmt.Errorf("no_bucket: there is no bucket %s; create it first (%w)", b.bucket, err)
	case "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch":
		return fmt.Errorf("no_access: bucket %s: %s %s: %w", b.bucket, do, name, err)
	}
	return fmt.Errorf("bucket %s: %s %s: %w", b.bucket, do, name, err)
}

// object is read in ranges.
type object struct {
	b    *Bucket
	ctx  context.Context
	name string
	size int64
}

func (o *object) Size() int64  { return o.size }
func (o *object) Close() error { return nil }

// ReadAt requests a range.
func (o *object) ReadAt(p []byte, off int64) (int, error) {
	if off >= o.size {
		return 0, io.EOF
	}
	if len(p) == 0 {
		return 0, nil
	}
	end := min(off+int64(len(p)), o.size)
	ctx, cancel := context.WithTimeout(o.ctx, requestTime)
	defer cancel()
	out, err := o.b.client.GetObject(ctx, &s3.GetObjectInput{
		Bucket: &o.b.bucket, Key: o.b.key(o.name), Range: aws.String(fmt.Sprintf("bytes=%d-%d", off, end-1)),
	})
	if missing(err) {
		return 0, fmt.Errorf("%w: %s", warehouse.ErrNotFound, o.name)
	}
	if err != nil {
		return 0, o.b.failed("read", o.name, err)
	}
	defer out.Body.Close()
	n, err := io.ReadFull(out.Body, p[:end-off])
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return n, err
}

// Reachable returns an error if the bucket cannot be listed.
func (b *Bucket) Reachable(ctx context.Context) error {
	_, err := b.client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &b.bucket})
	var response interface{ HTTPStatusCode() int }
	if errors.As(err, &response) && response.HTTPStatusCode() == http.StatusNotFound {
		return fmt.Errorf("no_bucket: there is no bucket %s; create it first (%w)", b.bucket, err)
	}
	return b.failed("reach", "it", err)
}
