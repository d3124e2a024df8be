// Package geo tells the place of an address, from a database in MaxMind's format that the operator brings: GeoLite2,
// GeoIP2 or DB-IP, of cities or countries. It is used where events come in.
package geo

import (
	"errors"
	"fmt"
	"net/netip"
	"runtime/debug"

	"github.com/oschwald/maxminddb-golang/v2"
)

// ErrDatabase is returned when a file is no database of places.
var ErrDatabase = errors.New("geo: not a MaxMind database of cities or countries")

// Place is where an address is used, as far as it is known.
type Place struct {
	Country string // ISO 3166-1, two letters
	Region  string // English name of the largest part of the country
	City    string // English name
}

// DB is an open database. It is safe for concurrent use.
type DB struct {
	reader *maxminddb.Reader
}

// Open maps a database file into memory. Replace it by renaming another over it: while one is written over it, lookups fail.
// Errors: ErrDatabase.
func Open(file string) (*DB, error) {
	reader, err := maxminddb.Open(file)
	if err != nil {
		return nil, fmt.Errorf("geo: open %s: %w: %w", file, ErrDatabase, err)
	}
	db := &DB{reader}
	if _, err := db.Lookup(netip.AddrFrom4([4]byte{})); err != nil { // refuse one that cannot be read before it is needed
		return nil, errors.Join(fmt.Errorf("geo: open %s: %w", file, err), reader.Close())
	}
	return db, nil
}

// Close releases the file. Nothing may be looked up any more.
func (db *DB) Close() error { return db.reader.Close() }

// record is the part of a database's records that is used.
type record struct {
	Country struct {
		Code string `maxminddb:"iso_code"`
	} `maxminddb:"country"`
	Regions []named `maxminddb:"subdivisions"`
	City    named   `maxminddb:"city"`
}

type named struct {
	Names struct {
		English string `maxminddb:"en"`
	} `maxminddb:"names"`
}

// Lookup returns the place of an address; an empty one if it is not known. Errors, of a damaged database, do not name the
// address.
func (db *DB) Lookup(address netip.Addr) (_ Place, err error) {
	// A file that was cut off has no memory behind its end: touching that would end the process.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("%w: reading it failed: %v", ErrDatabase, fault)
		}
	}()
	var r record
	address = address.Unmap().WithZone("")
	if address.Is6() && db.reader.Metadata.IPVersion == 4 {
		return Place{}, nil
	}
	if err := db.reader.Lookup(address).Decode(&r); err != nil {
		return Place{}, fmt.Errorf("%w: %w", ErrDatabase, err)
	}
	p := Place{Country: r.Country.Code, City: r.City.Names.English}
	if len(r.Regions) > 0 {
		p.Region = r.Regions[0].Names.English
	}
	return p, nil
}
