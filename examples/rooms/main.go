// Command rooms books meeting rooms. docs/guides/your-own-schema.md explains it step by step.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/onefold/onefold/blueprint"
	"github.com/onefold/onefold/blueprint/cost"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/table"
)

// BookingKey is the key of a booking. A room has at most one per hour.
type BookingKey struct {
	Room string    `dynamodbav:"room"`
	Hour time.Time `dynamodbav:"hour"`
}

// Booking reserves a room for a person for an hour.
type Booking struct {
	BookingKey
	Person string `dynamodbav:"person"`
	Topic  string `dynamodbav:"topic,omitempty"`
}

// Bookings are partitioned by room, and on the index by person. They are deleted after a month.
var Bookings = table.Define[Booking, BookingKey]("rooms.booking", table.Def[Booking]{
	PK: "ROOM#{room}", SK: "BOOKING#{hour:hour}", Immutable: true,
	Indexes: []table.Index[Booking]{{Name: "gsi1", PK: "PERSON#{person}", SK: "BOOKING#{hour:hour}#{room}"}},
	Expires: func(b *Booking) time.Time { return b.Hour.AddDate(0, 1, 0) },
	Doc:     "a booking of a room for an hour",
})

// Book books a room, if it is free.
var Book = table.NewCreate(Bookings, table.CreateDef{
	ID: "R1", Question: "book a room for an hour, if it is free", Load: table.Load{PerSecond: 0.5, Items: 1, ItemBytes: 200},
})

// RoomIn selects a room and the hours [From, To).
type RoomIn struct {
	Room string    `dynamodbav:"room"`
	From time.Time `dynamodbav:"from"`
	To   time.Time `dynamodbav:"to"`
}

// OfRoom reads the bookings of a room.
var OfRoom = table.NewQuery(Bookings, table.QueryDef[RoomIn]{
	ID: "R2", Question: "the bookings of a room in a range of hours", From: "BOOKING#{from:hour}", To: "BOOKING#{to:hour}",
	Load: table.Load{PerSecond: 2, Items: 8, ItemBytes: 200},
})

// PersonIn selects a person and the first hour.
type PersonIn struct {
	Person string    `dynamodbav:"person"`
	From   time.Time `dynamodbav:"from"`
}

// OfPerson reads the next bookings of a person.
var OfPerson = table.NewQuery(Bookings, table.QueryDef[PersonIn]{
	ID: "R3", Question: "the bookings of a person from a given hour on", Index: "gsi1", From: "BOOKING#{from:hour}",
	Load: table.Load{PerSecond: 1, Items: 5, ItemBytes: 200},
})

// Schema is the schema of the table. An invalid schema panics at startup.
var Schema = table.MustSchema("rooms", Book, OfRoom, OfPerson)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "rooms:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	nine := time.Date(2026, 5, 12, 9, 0, 0, 0, time.UTC)
	clock := func() time.Time { return nine } // the default is time.Now
	db, err := engine.OpenMemory(engine.Options{Clock: clock})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	switch {
	case len(args) == 0:
		if err := Schema.Ensure(ctx, db, "rooms"); err != nil {
			return err
		}
		return meet(ctx, table.New(db, "rooms", table.Options{Clock: clock}), nine, out)
	case args[0] == "design":
		return design(ctx, db, nine, out)
	case args[0] == "cost":
		return price(ctx, out)
	}
	return fmt.Errorf("unknown command %q; use design or cost", args[0])
}

// meet books rooms, one of them twice, and reads bookings.
func meet(ctx context.Context, t *table.Table, nine time.Time, out io.Writer) error {
	for _, b := range []Booking{
		{BookingKey{"blue", nine}, "ada", "budget"},
		{BookingKey{"blue", nine.Add(time.Hour)}, "grace", ""},
		{BookingKey{"blue", nine}, "grace", "retro"},
		{BookingKey{"red", nine}, "grace", "retro"},
	} {
		err := Book.Run(ctx, t, &b)
		if errors.Is(err, table.ErrExists) {
			fmt.Fprintf(out, "%s is taken at %s\n", b.Room, b.Hour.Format("15:04"))
		} else if err != nil {
			return err
		}
	}
	for b, err := range OfRoom.All(ctx, t, RoomIn{Room: "blue", From: nine, To: nine.Add(8 * time.Hour)}) {
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "blue %s %s\n", b.Hour.Format("15:04"), b.Person)
	}
	for b, err := range OfPerson.All(ctx, t, PersonIn{Person: "grace", From: nine}) {
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "grace %s %s\n", b.Hour.Format("15:04"), b.Room)
	}
	return nil
}

// design writes the document, with every pattern run on example rows.
func design(ctx context.Context, db *engine.DB, now time.Time, out io.Writer) error {
	d, err := blueprint.New(ctx, Schema, blueprint.Options{Store: db, Now: now})
	if err != nil {
		return err
	}
	return d.Markdown(out)
}

// price prints the monthly cost on DynamoDB.
func price(ctx context.Context, out io.Writer) error {
	d, err := blueprint.New(ctx, Schema, blueprint.Options{})
	if err != nil {
		return err
	}
	book, err := cost.PriceBook()
	if err != nil {
		return err
	}
	prices, err := book.Region("us-east-1")
	if err != nil {
		return err
	}
	for _, perDay := range []float64{10_000, 1_000_000} {
		w, err := cost.Declared(d, perDay, cost.Options{Months: 1})
		if err != nil {
			return err
		}
		bill := cost.Of(w, "us-east-1", prices, 4)
		fmt.Fprintf(out, "%.0f bookings a day: %.0f write and %.0f read units a month, $%.2f with all else\n",
			perDay, bill.WriteUnits, bill.ReadUnits, bill.Total)
	}
	return nil
}
