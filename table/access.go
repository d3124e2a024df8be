package table

// Access states which kinds of process, besides servers and maintenance, use the items of an
// entity. The policies that onefold writes for IAM follow from it. The zero value: every role may
// read them with the access patterns, and only servers and maintenance write them.
type Access struct {
	Private bool   // credentials: roles without Rights never read them
	Ingest  Rights // of processes that take in facts
	Fold    Rights // of processes that fold
}

// Rights are the attributes that a role reads, puts and updates, and whether it deletes items.
type Rights struct {
	Reads   Fields
	Puts    Fields // creates or replaces items
	Updates Fields // with UpdateItem
	Deletes bool
}

// Fields are names of attributes. Nil means none.
type Fields []string

// wholeItem is the element of Fields for all attributes of the entity.
const wholeItem = "*"

// Whole means all attributes of an entity, and those that the kit adds.
var Whole = Fields{wholeItem}

// Whole reports whether the fields include all attributes of the entity.
func (f Fields) Whole() bool {
	for _, name := range f {
		if name == wholeItem {
			return true
		}
	}
	return false
}

// Any reports whether the role may use any items at all.
func (r *Rights) Any() bool {
	return r.Reads != nil || r.Puts != nil || r.Updates != nil || r.Deletes
}
