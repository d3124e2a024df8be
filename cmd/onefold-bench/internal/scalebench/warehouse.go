package scalebench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/cmd/internal/products"
	"github.com/onefold/onefold/cmd/onefold-bench/internal/analyticsbench"
	"github.com/onefold/onefold/cmd/onefold-bench/internal/querybench"
	"github.com/onefold/onefold/cmd/onefold-bench/internal/workbench"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/warehouse"
	"github.com/onefold/onefold/warehouse/duck"
	"github.com/onefold/onefold/warehouse/export"
)

// export measures the export of events from a stream to Parquet, and their size there.
func (b *bench) export(ctx context.Context, dir string) (all []workbench.Result, err error) {
	s, err := b.o.Open(ctx, filepath.Join(dir, "table"), workbench.Time{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.DB.Close()) }()
	now := time.Now()
	if err := analyticsbench.Fill(ctx, s.Table, analytics.NewSite{ID: site}, b.o.Events, now.Add(-72*time.Hour), now); err != nil {
		return nil, err
	}
	table := products.TableName
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
	x := export.New(w, s.Table, streamsource.New(s.DB, *described.Table.LatestStreamArn), export.Options{})
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

// parquetBytes returns the total size of the Parquet files in a directory tree.
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

// query measures a month of events of one site in a warehouse, queried with SQL and with the
// dashboard's filters.
func (b *bench) query(ctx context.Context, dir string) (all []workbench.Result, err error) {
	r, err := querybench.Run(ctx, querybench.Options{Events: b.o.Rows, MemoryMB: 6144, Seed: 1, Dir: dir})
	if err != nil {
		return nil, err
	}
	if !duck.Built {
		b.o.Progress("query: SQL is skipped: " + duck.ErrNoDuckDB.Error())
	}
	of := fmt.Sprintf("a month of %d events: ", r.Events)
	all = append(all, workbench.Result{Name: of + "an event in the files", Unit: "bytes", Value: r.BytesPerEvent})
	for _, a := range r.Answers {
		all = append(all, workbench.Result{Name: of + a.What, Unit: "s", Value: a.Seconds})
	}
	return all, nil
}
