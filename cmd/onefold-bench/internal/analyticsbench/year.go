package analyticsbench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/cmd/onefold-bench/internal/workbench"
	"github.com/onefold/onefold/dynamo"
)

// A year of statistics is extrapolated from a few days of it, each tier separately.
const (
	sampleDays  = 2
	yearsHours  = 90 // days with hourly statistics
	yearsMonths = 12
)

// years measures the disk space of a year of statistics, for a small and a busy site.
func (b *bench) years(ctx context.Context, dir string) (results []workbench.Result, err error) {
	for _, perDay := range []int{1_000, 50_000} {
		b.o.Progress(fmt.Sprintf("statistics of %d events per day", perDay))
		bytes, err := b.yearBytes(ctx, filepath.Join(dir, fmt.Sprint(perDay)), perDay)
		if err != nil {
			return nil, err
		}
		results = append(results, workbench.Result{Name: fmt.Sprintf("statistics of a year, %d events per day (%d days of hours, %d days, %d months)", perDay, yearsHours, yearDays, yearsMonths), Unit: "MB", Value: bytes / (1 << 20)})
	}
	return results, nil
}

// yearBytes fills whole days, rolls them up and measures each tier in its own table. The days are
// in one month, so a month is assumed to be as large as one with few days: its number of values is
// bounded, and a busy site reaches the bound soon.
func (b *bench) yearBytes(ctx context.Context, dir string, perDay int) (year float64, err error) {
	s, err := b.o.Open(ctx, dir, workbench.Time{})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.DB.Close()) }()
	if err := addSite(ctx, s, liveSite); err != nil {
		return 0, err
	}
	now := time.Now().UTC()
	begin := time.Date(now.Year(), now.Month()-1, 1, 0, 0, 0, 0, time.UTC)
	end := begin.AddDate(0, 0, sampleDays)
	err = s.Folding(ctx, func(ctx context.Context) error {
		err := fill(ctx, s, liveSite, perDay*sampleDays, livePages, fillBatch, begin, end, ctx.Err)
		return errors.Join(err, s.Worker.Drain(ctx))
	})
	if err == nil {
		_, err = reconcile.RollUp(ctx, s.Table, liveSite, now)
	}
	if err != nil {
		return 0, err
	}
	for _, tier := range []struct {
		period analytics.Period
		times  float64
	}{{analytics.Hour, float64(yearsHours) / sampleDays}, {analytics.Day, float64(yearDays) / sampleDays}, {analytics.Month, yearsMonths}} {
		bytes, err := b.tierBytes(ctx, dir+"-"+string(tier.period), s, tier.period)
		if err != nil {
			return 0, err
		}
		year += bytes * tier.times
	}
	return year, nil
}

// tierBytes returns the bytes of the statistics and breakdowns of a period, in a table with nothing
// else.
func (b *bench) tierBytes(ctx context.Context, dir string, from *workbench.Store, p analytics.Period) (bytes float64, err error) {
	to, err := b.o.Open(ctx, dir, workbench.Time{})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, to.DB.Close()) }()
	items := 0
	for _, kind := range []string{"STATS#", "BREAKDOWN#"} {
		n, err := copyItems(ctx, from, to, kind+string(p)+"#")
		if err != nil {
			return 0, err
		}
		items += n
	}
	if items == 0 {
		return 0, fmt.Errorf("the site has no statistics by %s", p)
	}
	return tableBytes(ctx, to.DB)
}

// copyItems copies the site's items whose sort keys begin with a prefix, and returns their number.
func copyItems(ctx context.Context, from, to *workbench.Store, prefix string) (items int, err error) {
	in := &dynamodb.QueryInput{
		TableName: aws.String(from.Table.Name()), KeyConditionExpression: aws.String("pk = :pk AND begins_with(sk, :sk)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":pk": &types.AttributeValueMemberS{Value: "SITE#" + liveSite}, ":sk": &types.AttributeValueMemberS{Value: prefix},
		},
	}
	for {
		out, err := from.DB.Query(ctx, in)
		if err != nil {
			return items, err
		}
		puts := make([]*dynamodb.PutItemInput, len(out.Items))
		for i, it := range out.Items {
			puts[i] = &dynamodb.PutItemInput{TableName: aws.String(to.Table.Name()), Item: it}
		}
		if err := errors.Join(dynamo.PutAll(ctx, to.DB, puts, atOnce)...); err != nil {
			return items, err
		}
		items += len(puts)
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return items, nil
		}
	}
}
