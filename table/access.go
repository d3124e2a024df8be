package table

// Access states which kinds of process, besides servers and maintenance, use the items of an
// entity. The policies that onefold writes for IAM follow from it. The zero value: every role may
// read them with the access patterns, and only servers and maintenance write them.
type Access struct {
	Private      bool   // credentials: roles without Rights never read them
	Ingest, Fold Rights // of processes that take in facts, and of those that fold
}

// Rights are the attributes of items that a role reads, puts (creates or replaces) and changes with
// UpdateItem. Deletes is nil or Whole.
type Rights struct {
	Reads, Puts, Updates, Deletes Fields
}

// Fields are names of attributes. Nil means none.
type Fields []string

// Whole means all attributes of an entity, and those that the kit adds.
var Whole = Fields{"*"}
