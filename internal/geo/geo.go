// Package geo looks up the location of an address in a MaxMind database (.mmdb) of the operator:
// GeoLite2, GeoIP2 or DB-IP, of cities or countries.
package geo

import (
	"errors"
	"fmt"
	"net/netip"
	"runtime/debug"

	"github.com/oschwald/maxminddb-golang/v2"
)

// ErrDatabase is returned for a file that is not a location database.
var ErrDatabase = errors.New("geo: not a MaxMind database of cities or countries")

// Place is the location where an address is used, as far as it is known.
type Place struct {
	Country string // ISO 3166-1, two letters
	Region  string // English name of the largest part of the country
	City    string // English name
}

// DB is an open database. It is safe for concurrent use.
type DB struct {
	reader *maxminddb.Reader
}

// Open maps a database file into memory. Replace the file by renaming another over it: lookups fail
// while a file is being overwritten. Errors: ErrDatabase.
func Open(file string) (*DB, error) {
	reader, err := maxminddb.Open(file)
	if err != nil {
		return nil, fmt.Errorf("geo: open %s: %w: %w", file, ErrDatabase, err)
	}
	db := &DB{reader}
	if _, err := db.Lookup(netip.AddrFrom4([4]byte{})); err != nil { // reject an unreadable database at once
		return nil, errors.Join(fmt.Errorf("geo: open %s: %w", file, err), reader.Close())
	}
	return db, nil
}

// Close releases the file. No lookups are allowed after it.
func (db *DB) Close() error { return db.reader.Close() }

// record has the fields of a database record that are used.
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

// Lookup returns the location of an address, or the zero value if it is unknown. Errors, of a
// damaged database, do not contain the address.
func (db *DB) Lookup(address netip.Addr) (_ Place, err error) {
	// A truncated file has no memory mapped beyond its end: accessing it would crash the process.
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
