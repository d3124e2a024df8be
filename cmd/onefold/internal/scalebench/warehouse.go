package scalebench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/onefold/onefold/cmd/internal/assembly"
	"github.com/onefold/onefold/cmd/onefold/internal/analyticsbench"
	"github.com/onefold/onefold/cmd/onefold/internal/workbench"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/internal/pause"
	"github.com/onefold/onefold/warehouse"
	"github.com/onefold/onefold/warehouse/duck"
	"github.com/onefold/onefold/warehouse/export"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// export measures how fast events are brought from a stream to Parquet, and what they take there.
func (b *bench) export(ctx context.Context, dir string) (all []workbench.Result, err error) {
	s, err := b.o.Open(ctx, filepath.Join(dir, "table"), workbench.Time{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.DB.Close()) }()
	now := time.Now()
	if err := analyticsbench.Fill(ctx, s.Table, site, b.o.Events, now.Add(-72*time.Hour), now); err != nil {
		return nil, err
	}
	table := assembly.TableName
	described, err := s.DB.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		return nil, err
	}
	root := filepath.Join(dir, "warehouse")
	objects, err := warehouse.OpenDir(root)
	if err != nil {
		return nil, err
	}
	w, err := warehouse.Open(ctx, objects, warehouse.Options{})
	if err != nil {
		return nil, err
	}
	began := time.Now()
	x := export.New(w, s.Table, fold.Streams(s.DB, *described.Table.LatestStreamArn), export.Options{})
	if err := x.CatchUp(ctx); err != nil {
		return nil, err
	}
	took := time.Since(began).Seconds()
	var rows int64
	for _, f := range w.Files() {
		rows += int64(f.Rows)
	}
	if rows != int64(b.o.Events) {
		return nil, fmt.Errorf("%d rows were exported of %d events", rows, b.o.Events)
	}
	size, err := parquetBytes(root)
	return []workbench.Result{
		{Name: "rows exported from the stream", Unit: "/s", Value: float64(rows) / took},
		{Name: "an event in Parquet", Unit: "bytes", Value: float64(size) / float64(rows)},
	}, err
}

// parquetBytes are the bytes of the Parquet files below a folder.
func parquetBytes(root string) (sum int64, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".parquet" {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}

// asked is what a dashboard asks of a month with a filter.
const asked = `SELECT date, count(*) AS views, count(DISTINCT visitor_id) AS visitors FROM events
WHERE kind = 'pageview' AND country = 'DE' AND path LIKE '/blog/%' GROUP BY date ORDER BY date`

// query measures DuckDB on a month of events of one site, with a filter.
func (b *bench) query(ctx context.Context, dir string) ([]workbench.Result, error) {
	files, err := b.month(ctx, dir)
	if err != nil {
		return nil, err
	}
	var took []float64
	rows := 0
	for range 5 {
		began := time.Now()
		rows = 0
		if err := ask(ctx, files, asked, &rows); errors.Is(err, duck.ErrNoDuckDB) {
			b.o.Progress("query: left out: " + err.Error())
			return nil, nil
		} else if err != nil {
			return nil, err
		}
		took = append(took, time.Since(began).Seconds())
	}
	if rows != 30 {
		return nil, fmt.Errorf("the query found %d days of 30", rows)
	}
	return []workbench.Result{{Name: fmt.Sprintf("DuckDB: a filter over a month of %d events, opened and asked", b.o.Rows), Unit: "s", Value: workbench.Median(took)}}, nil
}

func ask(ctx context.Context, files []string, query string, rows *int) (err error) {
	db, err := duck.Open(ctx, duck.Options{Events: files})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return db.Query(ctx, query, 1000, func([]duck.Column) error { return nil }, func([]*string) error { *rows++; return nil })
}

// month writes a month of events of one site, a file a day, as the compaction of a day leaves it.
func (b *bench) month(ctx context.Context, dir string) (files []string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	objects, err := warehouse.OpenDir(dir)
	if err != nil {
		return nil, err
	}
	w, err := warehouse.Open(ctx, objects, warehouse.Options{})
	if err != nil {
		return nil, err
	}
	begin := time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)
	for day := range 30 {
		b.o.Progress(fmt.Sprintf("query: day %d of 30", day+1))
		at := begin.AddDate(0, 0, day)
		f, _, err := w.WriteFile(ctx, warehouse.PartitionOf(warehouse.Events, site, at.UnixMilli()), madeUp(at, b.o.Rows/30))
		if err != nil {
			return nil, err
		}
		files = append(files, filepath.Join(dir, f.Path))
		if err := pause.For(ctx, 0); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// madeUp are events of a day.
func madeUp(day time.Time, n int) iter.Seq2[warehouse.Row, error] {
	return func(yield func(warehouse.Row, error) bool) {
		random := rand.New(rand.NewPCG(uint64(day.Unix()), 1))
		pages := rand.NewZipf(random, 1.1, 8, 1999)
		for i := range n {
			at := day.Add(time.Duration(i) * 24 * time.Hour / time.Duration(n)).UnixMilli()
			page := pages.Uint64()
			row := &warehouse.EventRow{
				Time: at, EventID: fmt.Sprintf("%016x%010d", random.Uint64(), i), VisitorID: fmt.Sprintf("%032x", random.IntN(n/5+1)), Kind: "pageview",
				Path: fmt.Sprintf("/%s/%d", []string{"blog", "docs", "shop"}[page%3], page), Hostname: "example.com",
				Source: []string{"", "Google", "Bing", "news.example"}[random.IntN(4)], Channel: []string{"Direct", "Organic Search", "Referral"}[random.IntN(3)],
				Country: []string{"DE", "FR", "GB", "US", "IN", "BR", "JP", "ES"}[random.IntN(8)],
				Browser: []string{"Chrome", "Firefox", "Safari"}[random.IntN(3)], OS: []string{"Linux", "Windows", "iOS"}[random.IntN(3)],
				Device: []string{"desktop", "mobile"}[random.IntN(2)], Screen: "1920x1080", Language: "en",
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}
