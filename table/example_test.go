package table_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/table"
)

// ReadingKey identifies a reading. Its fields are the variables of PK and SK.
type ReadingKey struct {
	Device string    `dynamodbav:"device"`
	At     time.Time `dynamodbav:"at"`
}

// Reading is the item.
type Reading struct {
	ReadingKey
	Celsius float64 `dynamodbav:"celsius"`
}

// ReadingsIn is the input of the query pattern.
type ReadingsIn struct {
	Device string    `dynamodbav:"device"`
	From   time.Time `dynamodbav:"from"`
	To     time.Time `dynamodbav:"to"`
}

var (
	readings = table.Define[Reading, ReadingKey]("example.reading", table.Def[Reading]{
		PK: "DEVICE#{device}", SK: "READING#{at:ms}", Immutable: true,
		Expires: func(r *Reading) time.Time { return r.At.AddDate(1, 0, 0) },
	})
	readingsByTime = table.NewQuery(readings, table.QueryDef[ReadingsIn]{
		ID: "T3", Question: "readings of a device in a time range",
		From: "READING#{from:ms}", To: "READING#{to:ms}",
	})
	readingSchema = table.MustSchema("example", readings, readingsByTime)
)

func Example() {
	ctx := context.Background()
	db, err := engine.OpenMemory(engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if err := readingSchema.Ensure(ctx, db, "onefold"); err != nil {
		log.Fatal(err)
	}
	noon := time.Date(2026, 5, 12, 12, 0, 0, 0, time.UTC)
	t := table.New(db, "onefold", table.Options{Clock: func() time.Time { return noon }})
	for i := range 3 {
		r := Reading{ReadingKey{"boiler", noon.Add(time.Duration(i) * time.Minute)}, 60 + float64(i)}
		if err := readings.Create(ctx, t, &r); err != nil {
			log.Fatal(err)
		}
	}
	in := ReadingsIn{"boiler", noon, noon.Add(2 * time.Minute)} // half-open: the third reading is outside
	for r, err := range readingsByTime.All(ctx, t, in) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(r.At.Format(time.TimeOnly), r.Celsius)
	}
	_, err = readings.Key(ReadingKey{"boiler#READING", noon})
	fmt.Println(err)
	// Output:
	// 12:00:00 60
	// 12:01:00 61
	// table: key value contains '#': device = "boiler#READING" (entity example.reading)
}
