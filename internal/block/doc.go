// Package block stores many facts of one kind in one binary body, column by column: the values of a
// field are adjacent, where they are small and compress well. A Schema defines how the fields of a
// Go type become columns. It appends facts to a body and reads them back, all columns or only some.
// Bodies are self-contained, protected by a checksum, and bounded in size; docs/format/blocks.md
// specifies the bytes.
//
// The package does not know the meaning of facts, or where bodies are stored. Packages that store
// facts declare a Schema:
//
//	var readings = block.New('r',
//		block.Text(1, func(r *Reading) *string { return &r.Device }),
//		block.Time(2, func(r *Reading) *time.Time { return &r.At }),
//		block.Float(3, func(r *Reading) *float64 { return &r.Celsius }),
//	)
//
// Column numbers are part of the format: a number is never given to another field, and a column
// never changes its constructor. Columns may be added. A reader that does not know a column rejects
// the body with ErrVersion, unless the column is Skippable.
package block
